/** What came of something that has no place of its own on the page, such as a key: one sentence. */
import { effect, signal } from '@preact/signals';
import { isLost, sentenceOf } from './exchange.js';
import { route } from './route.js';

export const notice = signal('');
/** On another view it would be about something else. */
effect(() => {
  void route.value;
  notice.value = '';
});

/** Shows the sentence that `run` resolves to, or why it was refused. */
export async function tell(run: () => Promise<string>): Promise<void> {
  notice.value = isLost.peek() ? 'The connection is lost, so nothing was sent.' : '';
  if (isLost.peek()) return;
  try {
    notice.value = await run();
  } catch (error) {
    notice.value = sentenceOf(error);
  }
}
