/**
 * Settings: whether others can see the account's holdings and trades, whether leaderboards list it,
 * and whether winnings are paid without a claim.
 */
import { useSignal } from '@preact/signals';
import { autoClaim, privacy, setAutoClaim, setPrivacy } from '../../../client/index.js';
import { api, isLost, sentenceOf } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Panel } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';

/** Sends a checkbox's state. A refusal resets the checkbox. */
function useSaving() {
  const isSending = useSignal(false);
  const problem = useSignal('');
  const save = async (box: HTMLInputElement, run: () => Promise<void>) => {
    isSending.value = true;
    problem.value = '';
    try {
      await run();
    } catch (error) {
      problem.value = sentenceOf(error);
      box.checked = !box.checked;
    } finally {
      isSending.value = false;
    }
  };
  return { isSending, problem, save };
}

export function PayoutPanel() {
  const userId = user.value?.userId ?? '';
  const reading = useReading(() => autoClaim(api, userId), userId);
  const { isSending, problem, save } = useSaving();
  const choose = (box: HTMLInputElement) =>
    save(box, async () => reading.set(await setAutoClaim(api, userId, box.checked)));
  return (
    <Panel title={t('Payout')}>
      <div class="entrance panel-body">
        <Read of={reading}>
          {({ enabled }) => (
            <label class="check">
              <input
                type="checkbox"
                checked={enabled}
                aria-describedby="payout-hint"
                disabled={isSending.value || isLost.value}
                onChange={({ currentTarget: box }) => void choose(box)}
              />
              {t('Automatic payout')}
            </label>
          )}
        </Read>
        <p class="soft" id="payout-hint">
          {t(
            'Winnings are paid when a market is decided, without a claim. This does not change markets that are decided already.',
          )}
        </p>
        <p class="problem" role="alert">
          {problem.value}
        </p>
      </div>
    </Panel>
  );
}

export function PrivacyPanel() {
  const userId = user.value?.userId ?? '';
  const reading = useReading(() => privacy(api, userId), userId);
  const { isSending, problem, save } = useSaving();
  const choose = (box: HTMLInputElement, wanted: { private: boolean; listed?: boolean }) =>
    save(box, async () => reading.set(await setPrivacy(api, userId, wanted)));
  return (
    <Panel title={t('Privacy')}>
      <div class="entrance panel-body">
        <Read of={reading}>
          {({ private: isPrivate, listed }) => (
            <>
              <label class="check">
                <input
                  type="checkbox"
                  checked={isPrivate}
                  aria-describedby="privacy-hint"
                  disabled={isSending.value || isLost.value}
                  onChange={({ currentTarget: box }) => void choose(box, { private: box.checked })}
                />
                {t('Private account')}
              </label>
              <label class="check">
                <input
                  type="checkbox"
                  checked={listed}
                  disabled={!isPrivate || isSending.value || isLost.value}
                  onChange={({ currentTarget: box }) =>
                    void choose(box, { private: true, listed: box.checked })
                  }
                />
                {t('On leaderboards')}
              </label>
            </>
          )}
        </Read>
        <p class="soft" id="privacy-hint">
          {t(
            'Others see only the name of a private account and when it was made. Leaderboards list it if you choose so, with the figures of the last full day (UTC).',
          )}
        </p>
        <p class="problem" role="alert">
          {problem.value}
        </p>
      </div>
    </Panel>
  );
}
