/** Settings: the browser's notifications of results, while the page is open in some tab. */
import { Check } from '../parts/action.js';
import { Panel } from '../parts/panel.js';
import { t } from '../words/words.js';
import { notifies } from './results.js';

const isPossible = typeof Notification !== 'undefined';

async function choose(box: HTMLInputElement): Promise<void> {
  const isAllowed = !box.checked || (await Notification.requestPermission()) === 'granted';
  notifies.value = box.checked && isAllowed ? 'on' : 'off';
  box.checked = notifies.value === 'on';
}

export function NotificationsPanel() {
  if (!isPossible) return null;
  return (
    <Panel title={t('Notifications')}>
      <div class="entrance panel-body">
        <Check
          label={t('Notify me of results while this page is in the background')}
          checked={notifies.value === 'on'}
          onChange={(box) => void choose(box)}
        />
      </div>
    </Panel>
  );
}
