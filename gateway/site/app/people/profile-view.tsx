/** An account's public profile: trades and holdings. */
import { type Profile, positions, profile, toLots, toMicros } from '../../../client/index.js';
import { UserTrades } from '../account/trades.js';
import { publicApi } from '../model/exchange.js';
import { route } from '../model/route.js';
import { averageCents, dayAndTime, dollars, shares, slotName, whole } from '../parts/format.js';
import { Figure, Gain, Outcome, Panel } from '../parts/panel.js';
import { Paged, Read, useReading } from '../parts/reading.js';
import { t } from '../words/words.js';

export function ProfileView() {
  const userId = route.value.subject;
  // Without a session, so that users see their own profile as others do.
  const reading = useReading(() => profile(publicApi, userId), userId);
  return (
    <Read of={reading}>
      {(of) => (
        <>
          <div class="page-head">
            <h1>{of.username}</h1>
            <span class="soft">{t('since {0}', dayAndTime(of.createdAtMs))}</span>
          </div>
          <div class="stack">
            <Panel title={t('Trading record')}>
              <Record of={of} />
            </Panel>
            {of.volume !== null && (
              <>
                <OpenPositions userId={userId} />
                <UserTrades of={userId} from={publicApi} />
              </>
            )}
          </div>
        </>
      )}
    </Read>
  );
}

function Record({ of }: { of: Profile }) {
  const { rank, realizedProfit, volume, trades } = of;
  if (realizedProfit === null || volume === null || trades === null)
    return <p class="nothing">{t('This account is private.')}</p>;
  return (
    <dl class="figures panel-body">
      <Figure label={t('Rank by profit')} value={rank === null ? '\u2013' : `${rank}`} />
      <Figure label={t('Realized profit')} value={<Gain micros={toMicros(realizedProfit)} />} />
      <Figure label={t('Volume')} value={dollars(toMicros(volume))} />
      <Figure label={t('Trades')} value={whole(trades)} />
    </dl>
  );
}

function OpenPositions({ userId }: { userId: string }) {
  return (
    <Paged
      title={t('Positions')}
      about={userId}
      list="positions"
      read={(cursor) => positions(publicApi, userId, { cursor })}
      heads={[t('Market'), t('Shares'), t('Average'), t('Value')]}
      nothing={t('No positions.')}
      rows={(held) =>
        held.map((each) => ({
          key: `${each.marketId} ${each.outcome}`,
          cells: [
            <>
              {each.outcome === null ? t('Refunded fees of') : <Outcome of={each.outcome} />}{' '}
              <a href={`#/market/${each.marketId}`}>{slotName(each.marketId)}</a>
            </>,
            shares(toLots(each.shares)),
            each.averagePrice === null ? '\u2013' : averageCents(toMicros(each.averagePrice)),
            each.value === null ? t('No bids') : dollars(toMicros(each.value)),
          ],
        }))
      }
    />
  );
}
