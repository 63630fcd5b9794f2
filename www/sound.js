// Sound, off at first: a tick for an event that is allowed, a thud for one that is refused, at most one of each a frame.
const counts = ["allowed", "refused"].map((id) => document.getElementById(id));
const now = () => counts.map(({ dataset: { value } }) => Number(value));

/** The sound, while it is on. */
let audio;

/** The counts that were heard last. */
let heard;

/** Plays a short tone. */
function play(type, hertz, seconds) {
  const [tone, gain] = [audio.createOscillator(), audio.createGain()];
  const end = audio.currentTime + seconds;
  Object.assign(tone, { type });
  tone.frequency.value = hertz;
  gain.gain.setValueAtTime(0.15, audio.currentTime);
  gain.gain.exponentialRampToValueAtTime(0.001, end);
  tone.connect(gain).connect(audio.destination);
  tone.start();
  tone.stop(end);
}

const observer = new MutationObserver(() => {
  const [allowed, refused] = now();
  if (allowed > heard[0]) play("square", 1500, 0.03);
  if (refused > heard[1]) play("sine", 90, 0.18);
  heard = [allowed, refused];
});

/** Turns the sound on or off. Returns whether it is on. */
export function toggle() {
  if (audio) {
    observer.disconnect();
    audio.close();
    audio = undefined;
    return false;
  }
  audio = new AudioContext();
  heard = now();
  for (const it of counts) observer.observe(it, { attributeFilter: ["data-value"] });
  return true;
}
