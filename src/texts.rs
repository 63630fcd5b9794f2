//! The texts beside the picture, as data: each with the id of its element.

#[derive(Clone, Default)]
pub(super) struct Texts {
    /// Three entries for each text: the id of its element, the text, and its number, or an empty text.
    list: Vec<String>,
}

impl Texts {
    pub(super) fn set(&mut self, id: impl Into<String>, text: impl Into<String>) {
        self.list.extend([id.into(), text.into(), String::new()]);
    }

    /// Sets the text of the element `id`, which shows the number `value`.
    pub(super) fn set_with_number(
        &mut self,
        id: impl Into<String>,
        text: impl Into<String>,
        value: f64,
    ) {
        let value = if value.is_finite() {
            value.to_string()
        } else {
            // As JavaScript reads it.
            "Infinity".to_owned()
        };
        self.list.extend([id.into(), text.into(), value]);
    }

    /// All texts that were set since the last call.
    pub(super) fn drain(&mut self) -> Vec<String> {
        core::mem::take(&mut self.list)
    }
}
