/**
 * Answers that depend only on the engine's state, shared by all readers.
 *
 * Invariant: a text is returned only at the sequence at which it was built.
 */
import type { Engine } from '../../../engine/engine.js';

const TEXTS_MAX = 256;

export class SharedTexts<Key, Text extends string | Uint8Array> {
  private readonly texts = new Map<Key, Text>();
  private engine: Engine | null = null;
  private sequence = 0;

  /** Bytes must not change later. */
  get(engine: Engine, key: Key, make: () => Text): Text {
    if (engine !== this.engine || engine.sequence !== this.sequence) {
      this.texts.clear();
      this.engine = engine;
      this.sequence = engine.sequence;
    }
    let text = this.texts.get(key);
    if (text === undefined) {
      if (this.texts.size === TEXTS_MAX) this.texts.clear();
      text = make();
      this.texts.set(key, text);
    }
    return text;
  }
}
