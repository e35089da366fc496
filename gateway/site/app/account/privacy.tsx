/**
 * Settings that the exchange keeps: whether others can see the account's holdings and trades,
 * whether leaderboards list it, and whether winnings are paid without a claim.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { autoClaim, privacy, setAutoClaim, setPrivacy } from '../../../client/index.js';
import { api, isLost, sentenceOf } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Check } from '../parts/action.js';
import { Panel } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';

/** Sends the state of a box that was ticked. A refusal resets the box. */
type Save<Setting> = (box: HTMLInputElement, send: () => Promise<Setting>) => void;

function SettingPanel<Setting>(props: {
  title: string;
  hint: string;
  hintId: string;
  read: () => Promise<Setting>;
  children: (setting: Setting, save: Save<Setting>, isBusy: boolean) => ComponentChildren;
}) {
  const { title, hint, hintId, read, children } = props;
  const reading = useReading(read, user.value?.userId ?? '');
  const isSending = useSignal(false);
  const problem = useSignal('');
  const save: Save<Setting> = async (box, send) => {
    isSending.value = true;
    problem.value = '';
    try {
      reading.set(await send());
    } catch (error) {
      problem.value = sentenceOf(error);
      box.checked = !box.checked;
    } finally {
      isSending.value = false;
    }
  };
  return (
    <Panel title={title}>
      <div class="entrance panel-body">
        <Read of={reading}>{(now) => children(now, save, isSending.value || isLost.value)}</Read>
        <p class="soft" id={hintId}>
          {hint}
        </p>
        <p class="problem" role="alert">
          {problem.value}
        </p>
      </div>
    </Panel>
  );
}

export function PayoutPanel() {
  const userId = user.value?.userId ?? '';
  return (
    <SettingPanel
      title={t('Payout')}
      hintId="payout-hint"
      hint={t(
        'Winnings are paid when a market is decided, without a claim. This does not change markets that are decided already.',
      )}
      read={() => autoClaim(api, userId)}
    >
      {({ enabled }, save, isBusy) => (
        <Check
          label={t('Automatic payout')}
          checked={enabled}
          describedBy="payout-hint"
          disabled={isBusy}
          onChange={(box) => save(box, () => setAutoClaim(api, userId, box.checked))}
        />
      )}
    </SettingPanel>
  );
}

export function PrivacyPanel() {
  const userId = user.value?.userId ?? '';
  return (
    <SettingPanel
      title={t('Privacy')}
      hintId="privacy-hint"
      hint={t(
        'Others see only the name of a private account and when it was created. Leaderboards list it only if you choose, with the figures of the last full day (UTC).',
      )}
      read={() => privacy(api, userId)}
    >
      {({ private: isPrivate, listed }, save, isBusy) => (
        <>
          <Check
            label={t('Private account')}
            checked={isPrivate}
            describedBy="privacy-hint"
            disabled={isBusy}
            onChange={(box) => save(box, () => setPrivacy(api, userId, { private: box.checked }))}
          />
          <Check
            label={t('Show me on leaderboards')}
            checked={listed}
            disabled={!isPrivate || isBusy}
            onChange={(box) =>
              save(box, () => setPrivacy(api, userId, { private: true, listed: box.checked }))
            }
          />
        </>
      )}
    </SettingPanel>
  );
}
