/** One sentence with the result of an action that has no place on the page, such as a key. */
import { effect, signal } from '@preact/signals';
import { t } from '../words/words.js';
import { isLost, sentenceOf } from './exchange.js';
import { route } from './route.js';

export const notice = signal('');
effect(() => {
  void route.value;
  notice.value = '';
});

export async function tell(run: () => Promise<string>): Promise<void> {
  notice.value = isLost.peek() ? t('The connection is lost, so nothing was sent.') : '';
  if (isLost.peek()) return;
  try {
    notice.value = await run();
  } catch (error) {
    notice.value = sentenceOf(error);
  }
}
