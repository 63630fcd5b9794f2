//! Prints the tables of the chapter "What a refusal does to clients": `cargo run -p ratescope-lab --example retries`.

#[path = "../tests/it/retries.rs"]
mod retries;

fn main() {
    for table in retries::tables() {
        println!("{table}");
    }
}
