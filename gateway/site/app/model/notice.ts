/** What came of something that has no place of its own on the page, such as a key: one sentence. */
import { signal } from '@preact/signals';
import { sentenceOf } from './exchange.js';

export const notice = signal('');

/** Shows the sentence that `run` resolves to, or why it was refused. */
export async function tell(run: () => Promise<string>): Promise<void> {
  notice.value = '';
  try {
    notice.value = await run();
  } catch (error) {
    notice.value = sentenceOf(error);
  }
}
