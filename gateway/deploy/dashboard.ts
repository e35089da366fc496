/** The dashboard for Grafana, which the build writes to dist/deploy/grafana-dashboard.json. */

interface Panel {
  title: string;
  text: string;
  unit: 'ops' | 'reqps' | 's' | 'short' | 'bytes';
  /** A line above which, or with `isLeast` below which, something is wrong. */
  limit?: number;
  isLeast?: boolean;
  mayBeNegative?: boolean;
  /** Expressions of Prometheus, by their legends. */
  shows: Record<string, string>;
}

const quantile = (share: number, metric: string) =>
  `histogram_quantile(${share}, sum by (le) (rate(${metric}_bucket[$__rate_interval])))`;

const PANELS: readonly Panel[] = [
  {
    title: 'Commands a second',
    text: 'Commands that were applied, by kind, those that a rule refused included.',
    unit: 'ops',
    shows: {
      '{{kind}}': 'sum by (kind) (rate(exchange_commands_total[$__rate_interval]))',
    },
  },
  {
    title: 'Answers a second, by status',
    text: 'HTTP answers. A rise of 503 means that the disk or the follower is behind.',
    unit: 'reqps',
    shows: {
      '{{status}}': 'sum by (status) (rate(exchange_http_answers_total[$__rate_interval]))',
    },
  },
  {
    title: 'Time of a request',
    text: 'Of a change, from its first byte to its answer. Above the line, ExchangeSlow fires.',
    unit: 's',
    limit: 0.5,
    shows: {
      'p0.5': quantile(0.5, 'exchange_request_seconds'),
      'p0.99': quantile(0.99, 'exchange_request_seconds'),
      'p0.999': quantile(0.999, 'exchange_request_seconds'),
    },
  },
  {
    title: 'Time of a commit',
    text: 'Until a batch is on disk; every answer waits for it. Above the line, ExchangeCommitsSlow fires.',
    unit: 's',
    limit: 0.25,
    shows: {
      'p0.5': quantile(0.5, 'exchange_commit_seconds'),
      'p0.99': quantile(0.99, 'exchange_commit_seconds'),
    },
  },
  {
    title: 'Backlog',
    text: 'Commands that wait for the disk. From OVERLOAD_COMMANDS on (the line: its default), changes are refused.',
    unit: 'short',
    limit: 100000,
    shows: {
      commands: 'exchange_backlog_commands',
    },
  },
  {
    title: "Follower's lag",
    text: 'How old the oldest command is that the history lacks. From 2 s on, reads of the history get 503; above the line, ExchangeFollowerBehind fires.',
    unit: 's',
    limit: 30,
    shows: {
      lag: 'exchange_follower_lag_seconds',
    },
  },
  {
    title: 'Connections',
    text: 'Open connections. The line: CONNECTIONS by default; further ones are closed.',
    unit: 'short',
    limit: 10000,
    shows: {
      '{{kind}}': 'exchange_connections',
    },
  },
  {
    title: 'Memory',
    text: 'Of the process. The line: MemoryHigh of the systemd unit.',
    unit: 'bytes',
    limit: 12884901888,
    shows: {
      '{{kind}}': 'exchange_memory_bytes',
    },
  },
  {
    title: 'Refused',
    text: 'Requests that were refused because of overload, or of the limits of fair use.',
    unit: 'reqps',
    shows: {
      overload: 'sum(rate(exchange_overload_refused_total[$__rate_interval]))',
      'rate limits': 'sum(rate(exchange_rate_limited_total[$__rate_interval]))',
    },
  },
  {
    title: 'Halted or retrying',
    text: '1: trading is halted until a restart; or the follower has failed and retries.',
    unit: 'short',
    limit: 1,
    shows: {
      halted: 'exchange_halted',
      'follower retries': 'exchange_follower_retrying',
    },
  },
  {
    title: 'Who leads',
    text: '1: leads. Each leader also shows how many standbys wait; below 1, nobody would take over.',
    unit: 'short',
    shows: {
      '{{instance}} leads': 'exchange_leader',
      standbys: 'exchange_standbys',
    },
  },
  {
    title: "Age of the replicas' state",
    text: 'From 1 s on, the leader answers the reads of a replica. Above the line, ExchangeReplicaOld fires.',
    unit: 's',
    limit: 5,
    shows: {
      '{{instance}}': 'exchange_replica_age_seconds',
    },
  },
  {
    title: 'Age of prices',
    text: 'Of the newest price of each asset, of any source. After 15 s a source no longer counts. Above the line, ExchangePriceSilent fires.',
    unit: 's',
    limit: 60,
    shows: {
      '{{asset}}': 'max by (asset) (exchange_price_age_seconds)',
    },
  },
  {
    title: 'Free disk',
    text: 'Of the data folder. Below the line, ExchangeDiskFull fires; startup needs 8 MiB.',
    unit: 'bytes',
    limit: 10737418240,
    isLeast: true,
    shows: {
      '{{instance}}': 'exchange_disk_free_bytes',
    },
  },
  {
    title: 'Since the last backup',
    text: 'Of the folder with the journal. Above the line, ExchangeBackupOld fires.',
    unit: 's',
    limit: 93600,
    shows: {
      '{{instance}}': 'exchange_backup_age_seconds',
    },
  },
  {
    title: 'Commands since the newest snapshot',
    text: 'What startup would replay. Above the line, ExchangeNoSnapshot fires.',
    unit: 'short',
    limit: 10000000,
    shows: {
      '{{instance}}': 'exchange_sequence - exchange_snapshot_sequence',
    },
  },
  {
    title: 'Pauses and prices held back',
    text: 'Pauses in force, of everything, assets and markets; and assets with a price that is far from the last one and does not count yet.',
    unit: 'short',
    shows: {
      pauses: 'exchange_pauses',
      'prices held back': 'exchange_prices_held',
    },
  },
  {
    title: 'Live feeds',
    text: '1: the connection to the source has delivered a price. Without any, markets wait for one.',
    unit: 'short',
    shows: {
      '{{source}}': 'exchange_feed_live',
    },
  },
  {
    title: "The exchange's clock",
    text: "How far it is ahead of the machine's; of a standby, how far the clocks of the others are. Above the line, or as far below zero, ExchangeClockOff fires.",
    unit: 's',
    limit: 1,
    mayBeNegative: true,
    shows: {
      '{{instance}}': 'exchange_clock_ahead_seconds',
    },
  },
  {
    title: "Size of the journal's log",
    text: 'The -wal file. It grows while a program holds a read of the journal open. Above the line, ExchangeJournalLogGrows fires.',
    unit: 'bytes',
    limit: 268435456,
    shows: {
      '{{instance}}': 'exchange_journal_log_bytes',
    },
  },
];

const WIDTH = 12;
const HEIGHT = 8;

function panelOf({ title, text, unit, limit, isLeast, mayBeNegative, shows }: Panel, i: number) {
  const [below, above] = isLeast === true ? ['red', 'green'] : ['green', 'red'];
  const steps = [
    { color: below, value: null },
    { color: above, value: limit },
  ];
  const line = {
    custom: { thresholdsStyle: { mode: 'line' } },
    thresholds: { mode: 'absolute', steps },
  };
  const least = mayBeNegative === true ? {} : { min: 0 };
  return {
    id: i + 1,
    title,
    description: text,
    type: 'timeseries',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
    datasource: { type: 'prometheus', uid: '${source}' },
    gridPos: { h: HEIGHT, w: WIDTH, x: (i % 2) * WIDTH, y: Math.floor(i / 2) * HEIGHT },
    fieldConfig: {
      defaults: { unit, ...least, ...(limit === undefined ? {} : line) },
      overrides: [],
    },
    targets: Object.entries(shows).map(([legendFormat, expr], at) => ({
      refId: 'ABC'[at],
      expr,
      legendFormat,
    })),
  };
}

export const DASHBOARD = {
  title: 'Exchange',
  uid: 'quarter-hour-exchange',
  schemaVersion: 39,
  version: 2,
  timezone: 'utc',
  refresh: '10s',
  time: { from: 'now-1h', to: 'now' },
  templating: {
    list: [{ name: 'source', label: 'Source', type: 'datasource', query: 'prometheus' }],
  },
  panels: PANELS.map(panelOf),
};
