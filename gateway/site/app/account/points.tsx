/** The user's points, and the reason of each credit. */
import { points } from '../../../client/index.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { dayAndTime, slotName } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { Paged, Read, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';

const REASONS = { fees: t('Fees you paid'), referral: t('Fees of users you referred') };

export function PointsList() {
  const userId = user.value?.userId ?? '';
  const total = useReading(() => points(api, userId, { limit: 1 }), userId);
  return (
    <div class="stack">
      <Panel title={t('Points')}>
        <div class="panel-body">
          <Read of={total}>{({ balance }) => <p class="figure-value">{`${balance}`}</p>}</Read>
          <p class="soft">
            {t(
              'Each dollar of fees on trades from 3¢ to 97¢ earns 100 points, credited when the market is decided. The user who referred you gets another 10%.',
            )}
          </p>
        </div>
      </Panel>
      <Paged
        title={t('Credits')}
        about={userId}
        list="history"
        read={(cursor) => points(api, userId, { cursor })}
        heads={[t('Market'), t('For'), t('Time'), t('Points')]}
        nothing={t('No points yet.')}
        rows={(history) =>
          history.map((each) => ({
            key: `${each.marketId} ${each.reason} ${each.atMs} ${each.points}`,
            cells: [
              slotName(each.marketId),
              REASONS[each.reason],
              dayAndTime(each.atMs),
              `${each.points}`,
            ],
          }))
        }
      />
    </div>
  );
}
