import { cancelKey, KEYS } from './keys.js';
import { closeDialog } from './model/dialog.js';
import { Dialog } from './parts/form.js';
import { t } from './words/words.js';

const OTHERS = [
  { key: '↑ ↓', does: t('In the price field: 0.1¢ up or down, with Shift 1¢') },
  { key: 'Esc', does: t('Withdraw the confirmation, or leave a field') },
];

export function KeyList() {
  return (
    <Dialog title={t('Shortcuts')}>
      <dl class="keys">
        {[...KEYS, ...OTHERS].map(({ key, does }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={cancelKey.value === 'on'}
          onChange={({ currentTarget }) => {
            cancelKey.value = currentTarget.checked ? 'on' : 'off';
          }}
        />
        {t('x cancels all open orders')}
      </label>
      <button type="button" class="send neutral" onClick={closeDialog}>
        {t('Close')}
      </button>
    </Dialog>
  );
}
