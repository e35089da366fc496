/** Settings: the browser's notifications of results, while the page is open in some tab. */
import { effect } from '@preact/signals';
import { user } from '../model/session.js';
import { kept } from '../model/settings.js';
import { Panel } from '../parts/panel.js';
import { sentence } from './results.js';
import { unread } from './settlements.js';

const wanted = kept<'on' | 'off'>('notify', 'off', ['on', 'off']);
const isPossible = typeof Notification !== 'undefined';

let known = new Set(unread.peek().map(({ marketId }) => marketId));
effect(() => {
  const own = unread.value.filter(({ userId }) => userId === user.value?.userId);
  const added = own.filter(({ marketId }) => !known.has(marketId));
  known = new Set(unread.value.map(({ marketId }) => marketId));
  // A visible page shows its results itself.
  if (wanted.peek() === 'off' || !document.hidden) return;
  // Tabs of one browser replace each other's notification by its tag.
  for (const each of added) new Notification(sentence(each), { tag: each.marketId });
});

async function choose(box: HTMLInputElement): Promise<void> {
  const isAllowed = !box.checked || (await Notification.requestPermission()) === 'granted';
  wanted.value = box.checked && isAllowed ? 'on' : 'off';
  box.checked = wanted.value === 'on';
}

export function NotificationsPanel() {
  if (!isPossible) return null;
  return (
    <Panel title="Notifications">
      <div class="entrance panel-body">
        <label class="check">
          <input
            type="checkbox"
            checked={wanted.value === 'on'}
            onChange={({ currentTarget: box }) => void choose(box)}
          />
          Tell me results while this page is in the background
        </label>
      </div>
    </Panel>
  );
}
