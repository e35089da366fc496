import { cancelKey, KEYS } from './keys.js';
import { closeDialog } from './model/dialog.js';
import { Check } from './parts/action.js';
import { Dialog } from './parts/form.js';
import { t } from './words/words.js';

const OTHERS = [
  { key: '↑ ↓', does: t('In the price field: 0.1¢ up or down, with Shift 1¢') },
  { key: 'Esc', does: t('Cancel the confirmation, or leave a field') },
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
      <Check
        label={t('Let the x key cancel all open orders')}
        checked={cancelKey.value === 'on'}
        onChange={({ checked }) => (cancelKey.value = checked ? 'on' : 'off')}
      />
      <button type="button" class="send neutral" onClick={closeDialog}>
        {t('Close')}
      </button>
    </Dialog>
  );
}
