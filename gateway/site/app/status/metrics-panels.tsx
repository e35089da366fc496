/**
 * The operator's figures, from the metrics at this address: events of the last seconds, and current
 * queues. A latency is the bound within which the given share of answers stayed.
 */
import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { isRefusal, metrics as readMetrics } from '../../../client/index.js';
import { elapsedMs } from '../model/clock.js';
import { publicApi, sentenceOf } from '../model/exchange.js';
import { whole } from '../parts/format.js';
import { Fact, Panel, Table } from '../parts/panel.js';
import { t } from '../words/words.js';
import { Metrics, mean, perSecond, quantile } from './metrics.js';

const READ_EVERY_MS = 2_000;
/** Number of readings that rates and latencies use: the last ten seconds. */
const KEPT = 6;
const UNKNOWN = '\u2013';
const ELSEWHERE = t(
  'The metrics of this exchange are only on the address of its operators (OPERATIONS_PORT). Rates, latencies, commits, the follower and connections are not shown here.',
);

const readings = signal<readonly Metrics[]>([]);

export function MetricsPanels() {
  const problem = useSignal('');
  useEffect(() => {
    readings.value = [];
    let isReading = false;
    const read = async () => {
      if (isReading) return;
      isReading = true;
      try {
        const next = new Metrics(await readMetrics(publicApi), elapsedMs());
        readings.value = [...readings.peek(), next].slice(-KEPT);
        problem.value = '';
      } catch (error) {
        const isElsewhere = isRefusal(error) && error.status === 404;
        problem.value = isElsewhere ? ELSEWHERE : sentenceOf(error);
      } finally {
        isReading = false;
      }
    };
    void read();
    const timer = setInterval(() => void read(), READ_EVERY_MS);
    return () => clearInterval(timer);
  }, [problem]);
  const from = readings.value[0];
  const to = readings.value.at(-1);
  if (problem.value !== '')
    return (
      <Panel title={t('Figures')}>
        <p class="nothing" role="status">
          {problem.value}
        </p>
      </Panel>
    );
  if (from === undefined || to === undefined) return <p class="nothing">{t('Loading')}</p>;
  return (
    <>
      <Latencies from={from} to={to} />
      {(Object.entries(PANELS) as [Panels, Rows][]).map(([title, rows]) => (
        <Panel key={title} title={t(title)}>
          <dl class="forecast panel-body">
            {rows(from, to).map(([label, value]) => (
              <Fact key={label} label={label} value={value} />
            ))}
          </dl>
        </Panel>
      ))}
      <p>
        <a href="/api/metrics">{t('All metrics')}</a>
      </p>
    </>
  );
}

type Row = readonly [label: string, value: string];

const STAGES = [
  [t('Receiving and checking'), 'exchange_receive_seconds'],
  [t('Applying'), 'exchange_apply_seconds'],
  [t('Until it is durable'), 'exchange_commit_seconds'],
  [t('Whole request'), 'exchange_request_seconds'],
] as const;

function Latencies({ from, to }: { from: Metrics; to: Metrics }) {
  const at = (name: string, part: number) => upTo(quantile(from, to, name, part));
  return (
    <Panel title={t('Latencies')}>
      <Table
        label={t('Latencies of changes')}
        heads={[t('At most'), 'p50', 'p99', 'p99.9']}
        nothing=""
        rows={STAGES.map(([label, name]) => ({
          key: name,
          cells: [label, at(name, 0.5), at(name, 0.99), at(name, 0.999)],
        }))}
      />
    </Panel>
  );
}

type Panels = 'Rates per second' | 'Commits' | 'Follower' | 'Connections' | 'Process';
type Rows = (from: Metrics, to: Metrics) => readonly Row[];

/** Rows computed from the first and the last reading, by title. */
const PANELS: Readonly<Record<Panels, Rows>> = {
  'Rates per second': (from, to) => {
    const per = (name: string, labels?: Record<string, string>) =>
      perSecond(from, to, name, labels);
    const refused = per('exchange_commands_total') - per('exchange_commands_total', { code: 'ok' });
    return [
      [t('Commands'), per('exchange_commands_total').toFixed(1)],
      [t('Commands refused by a rule'), Math.max(refused, 0).toFixed(1)],
      [t('HTTP answers'), per('exchange_http_answers_total').toFixed(1)],
      [t('Refused by rate limits'), per('exchange_rate_limited_total').toFixed(1)],
      [t('Refused because the disk was behind'), per('exchange_overload_refused_total').toFixed(1)],
    ];
  },
  Commits: (from, to) => {
    const size = mean(from, to, 'exchange_commit_commands');
    return [
      [t('Commits per second'), perSecond(from, to, 'exchange_commit_commands_count').toFixed(1)],
      [t('Commands per commit'), size === null ? UNKNOWN : size.toFixed(1)],
      [t('Not durable yet'), known(to.sum('exchange_backlog_commands'))],
      [t('Answers waiting for the disk'), known(to.sum('exchange_waiting_answers'))],
      [t('Trading'), to.sum('exchange_halted') === 1 ? t('halted') : t('open')],
    ];
  },
  Follower: (_, to) => {
    const seconds = to.sum('exchange_follower_lag_seconds');
    const isRetrying = (to.sum('exchange_follower_retrying') ?? 0) > 0;
    return [
      [t('State'), isRetrying ? t('failing, and retrying') : t('healthy')],
      [t('Behind, commands'), known(to.sum('exchange_follower_lag_commands'))],
      [t('Behind, seconds'), seconds === null ? UNKNOWN : seconds.toFixed(2)],
      [t('Failures since the start'), known(to.sum('exchange_follower_failures_total'))],
    ];
  },
  Connections: (from, to) => [
    ['HTTP', known(to.sum('exchange_connections', { kind: 'http' }))],
    [t('Stream'), known(to.sum('exchange_connections', { kind: 'stream' }))],
    [t('Requests in flight'), known(to.sum('exchange_calls_under_way'))],
    ...to
      .by('exchange_stream_subscriptions', 'channel')
      .map(({ value, sum }) => [t('Subscribed to {0}', value), whole(sum)] as const),
    [t('Bytes that stream clients have not read'), known(to.sum('exchange_stream_backlog_bytes'))],
    [t('Refused per second'), perSecond(from, to, 'exchange_connections_refused_total').toFixed(1)],
  ],
  Process: (from, to) => {
    const memory = (kind: string) => {
      const bytes = to.sum('exchange_memory_bytes', { kind });
      return bytes === null ? UNKNOWN : `${whole(bytes / 2 ** 20)} MiB`;
    };
    const delay = to.sum('exchange_event_loop_delay_seconds', { quantile: '0.99' });
    return [
      [t('Cores in use'), perSecond(from, to, 'exchange_cpu_seconds_total').toFixed(2)],
      [t('Memory'), memory('rss')],
      [t('JavaScript heap'), memory('heapUsed')],
      [t('Event loop delay, p99'), upTo(delay)],
      [t('Accounts'), known(to.sum('exchange_users'))],
    ];
  },
};

function known(value: number | null): string {
  return value === null ? UNKNOWN : whole(value);
}

function upTo(seconds: number | null): string {
  if (seconds === null) return UNKNOWN;
  if (!Number.isFinite(seconds)) return 'over 33 s';
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  return seconds < 1 ? `${(seconds * 1e3).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;
}
