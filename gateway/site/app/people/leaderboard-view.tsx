/** The leaderboard by profit, volume or points, over all time, the day or the week. */
import { useSignal } from '@preact/signals';
import { leaderboard, toMicros } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { user } from '../model/session.js';
import { bound, Choice } from '../parts/action.js';
import { dollars, gain } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { Paged } from '../parts/reading.js';

const METRICS = [
  { value: 'profit', label: 'Profit' },
  { value: 'volume', label: 'Volume' },
  { value: 'points', label: 'Points' },
] as const;
const PERIODS = [
  { value: 'all', label: 'All time' },
  { value: 'week', label: 'Week' },
  { value: 'day', label: 'Day' },
] as const;
type Metric = (typeof METRICS)[number]['value'];
type Period = (typeof PERIODS)[number]['value'];

function valueText(metric: Metric, value: number): string {
  if (metric === 'points') return `${value}`;
  return metric === 'profit' ? gain(toMicros(value)) : dollars(toMicros(value));
}

export function LeaderboardView() {
  const metric = useSignal<Metric>('profit');
  const period = useSignal<Period>('all');
  const [by, over] = [metric.value, period.value];
  const own = user.value?.userId;
  return (
    <>
      <div class="page-head">
        <h1>Leaderboard</h1>
        <div class="actions">
          <Choice label="Ranked by" options={METRICS} {...bound(metric)} />
          <Choice label="Over" options={PERIODS} {...bound(period)} />
        </div>
      </div>
      <Panel title={METRICS.find(({ value }) => value === by)!.label}>
        <Paged
          about={`${by} ${over}`}
          list="entries"
          read={(cursor) => leaderboard(publicApi, { metric: by, period: over, cursor })}
          label="Leaderboard"
          heads={['Rank, name', METRICS.find(({ value }) => value === by)!.label]}
          nothing="Nobody is ranked for this period yet."
          rows={(entries) =>
            entries.map((each) => ({
              key: each.userId,
              cells: [
                <>
                  <span class="rank">{each.rank}</span>{' '}
                  <a href={`#/user/${each.userId}`}>{each.username}</a>
                  {each.userId === own && <span class="soft"> (you)</span>}
                </>,
                valueText(by, each.value),
              ],
            }))
          }
        />
      </Panel>
    </>
  );
}
