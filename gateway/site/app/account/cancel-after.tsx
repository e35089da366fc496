/**
 * The dead man's switch: the exchange cancels all resting orders after a time, unless the switch is
 * started again before. It keeps running when this page is closed. While open, the page can restart
 * it repeatedly.
 *
 * Invariant: the page shows the exchange's last answer, because the API has no route to read the
 * switch.
 */
import { effect, signal, useSignal } from '@preact/signals';
import { cancelAfter } from '../../../client/index.js';
import { now } from '../model/clock.js';
import { api, sentenceOf } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Action, Check } from '../parts/action.js';
import { Select } from '../parts/form.js';
import { clockSeconds } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { t } from '../words/words.js';

const MINUTE_MS = 60_000;
const CHOICES = [
  ['1', t('1 minute')],
  ['5', t('5 minutes')],
  ['15', t('15 minutes')],
  ['60', t('60 minutes')],
] as const;

interface Switch {
  userId: string;
  timeoutMs: number;
  cancelAtMs: number;
}

const started = signal<Switch | null>(null);
const isRenewed = signal(true);
const problem = signal('');
let isSending = false;

async function set(timeoutMs: number): Promise<void> {
  const userId = user.peek()?.userId ?? '';
  const { cancelAtMs } = await cancelAfter(api, userId, timeoutMs);
  started.value = cancelAtMs === null ? null : { userId, timeoutMs, cancelAtMs };
  problem.value = '';
}

effect(() => {
  const running = started.value;
  if (running === null) return;
  if (running.userId !== user.value?.userId) {
    started.value = null;
    return;
  }
  const leftMs = running.cancelAtMs - now.value;
  if (leftMs < 0) started.value = null;
  else if (isRenewed.value && leftMs < (running.timeoutMs * 2) / 3) void renew(running.timeoutMs);
});

async function renew(timeoutMs: number): Promise<void> {
  if (isSending) return;
  isSending = true;
  try {
    await set(timeoutMs);
  } catch (error) {
    problem.value = sentenceOf(error);
  } finally {
    isSending = false;
  }
}

export function CancelAfterPanel() {
  const minutes = useSignal<(typeof CHOICES)[number][0]>('5');
  const running = started.value;
  return (
    <Panel title={t('Auto-cancel')}>
      <div class="entrance panel-body">
        <p class="soft">
          {t(
            'Cancels your open orders in every market when the time is up, unless you restart it. It also works while this page is closed.',
          )}
        </p>
        <Select
          label={t('Cancel all orders after')}
          name="cancel-after"
          value={minutes}
          options={CHOICES}
        />
        <Check
          label={t('Restart while this page is open')}
          checked={isRenewed.value}
          onChange={({ checked }) => (isRenewed.value = checked)}
        />
        <p class="soft small">
          {t('Browsers slow down background pages, so choose at least 5 minutes.')}
        </p>
        <p class="actions">
          <Action class="plain strong" run={() => set(Number(minutes.peek()) * MINUTE_MS)}>
            {t('Start')}
          </Action>
          <Action run={() => set(0)}>{t('Turn off')}</Action>
        </p>
        <p data-switch>
          {running === null
            ? t('Not started from this page.')
            : t('All open orders are cancelled at {0}.', clockSeconds(running.cancelAtMs))}
        </p>
        <p class="problem" role="alert">
          {problem.value}
        </p>
      </div>
    </Panel>
  );
}
