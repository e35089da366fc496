/**
 * The configuration: environment variables in, validated values in engine units out. Every variable
 * is optional. An invalid value is an error that names the variable, never replaced by a default.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import {
  MAX_ASSETS,
  MAX_BATCH_OPERATIONS,
  MAX_ORDER_MICROS,
  MAX_TRANSFER_MICROS,
  RECENT_RESULT_WORDS,
} from '../../engine/interface/limits.js';
import { isPostgres } from '../../persistence/replication/postgres/address.js';
import { troubleOf, troubleText } from '../../persistence/storage/trouble.js';
import type { AccessKey } from '../access/access-keys.js';
import type { ConnectionLimits } from '../access/fair-use/connections.js';
import type { FairUseRates } from '../access/fair-use/fair-use.js';
import { OVERLOAD_LIMITS } from '../access/fair-use/overload.js';
import type { Rate } from '../access/fair-use/token-buckets.js';
import { isAnyAddress } from '../http/listen-addresses.js';
import { type PriceFeedConfig, VENUES, type VenueName } from '../inputs/prices.js';
import { MICRO_SCALE, scaledInteger } from '../json/decimal.js';
import { PAGE_ENTRIES_MAX } from '../json/fields.js';
import { LOG_LEVELS } from '../observe/log.js';
import { STREAM_LIMITS } from '../stream/limits.js';
import { ConfigError } from './config-error.js';

export type Config = ReturnType<typeof readConfig>;

const UNSENT_MS = 60_000;

/** Whether a process writes the journal, waits to write it, or follows it and answers clients. */
const ROLES = ['leader', 'standby', 'replica'] as const;

const SYMBOL = /^[A-Z0-9]{2,10}$/;
const ACCESS_KEY = /^([A-Za-z0-9_-]{1,32}):([0-9a-fA-F]{64})$/;
const FEEDS =
  'must be simulated, file:<path of a CSV file>, or one or more of coinbase and kraken, separated by commas';
const VENUE_NAMES = Object.keys(VENUES) as VenueName[];
const VENUE = VENUE_NAMES.join('|');

const text = (standard: string, form = /./, message = 'must not be empty') =>
  z.string().regex(form, message).default(standard);

function onOff(standard: 'on' | 'off') {
  return z
    .enum(['on', 'off'], { error: 'must be on or off' })
    .default(standard)
    .transform((value) => value === 'on');
}

function number(options: { standard: number; min: number; max: number; integer?: boolean }) {
  const { standard, min, max, integer = true } = options;
  return z
    .string()
    .regex(/^\d+(\.\d+)?$/, 'must be a number')
    .default(`${standard}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`)
    .refine((value) => !integer || Number.isInteger(value), 'must be a whole number');
}

function dollars(standard: number, maxMicros: number) {
  const max = maxMicros / MICRO_SCALE;
  return number({ standard, min: 0, max, integer: false }).transform((value, context) => {
    const micros = scaledInteger(value, MICRO_SCALE);
    if (Number.isNaN(micros))
      context.addIssue({ code: 'custom', message: 'has more than 6 decimal places' });
    return micros;
  });
}

/** `<per second>/<burst>`, or 0 for no limit. */
function rate(standard: string, burstMin = 1) {
  return z
    .string()
    .regex(
      /^(0|\d{1,9}(\.\d{1,3})?\/\d{1,9})$/,
      'must be <per second>/<burst>, such as 100/200, or 0 for no limit',
    )
    .default(standard)
    .transform((value): Rate | null => {
      const [perSecond, burst] = value.split('/').map(Number) as [number, number?];
      return burst === undefined ? null : { perSecond, burst };
    })
    .refine(
      (limit) => limit === null || limit.perSecond > 0,
      'must be greater than 0 per second, or 0 for no limit',
    )
    .refine(
      (limit) => limit === null || limit.burst >= burstMin,
      `must have a burst of at least ${burstMin}`,
    );
}

const list = (separated: string) => separated.split(/[,\n]/).map((item) => item.trim());

const optionalPort = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port')
  .transform(Number)
  .refine((port) => port <= 65_535, 'must be a port')
  .optional();

const Variables = z.object({
  ROLE: z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }).default('leader'),
  HOST: text('127.0.0.1'),
  PORT: number({ standard: 3000, min: 0, max: 65_535 }),
  TLS_CERT_FILE: z.string().default(''),
  TLS_KEY_FILE: z.string().default(''),
  EDGE_THREADS: number({ standard: 0, min: 0, max: 64 }),
  OPERATIONS_HOST: text('127.0.0.1'),
  OPERATIONS_PORT: optionalPort,
  OPERATOR_KEYS: z.string().default(''),
  REPLICAS_HOST: text('127.0.0.1'),
  REPLICAS_PORT: optionalPort,
  ADVERTISE_ADDRESS: z
    .string()
    .regex(/^(|(\[[0-9A-Fa-f:]+\]|[\w.-]+):\d{1,5})$/, 'must be host:port')
    .default(''),
  REPLICAS_KEY_FILE: z.string().default(''),
  REPLICA_AGE_SECONDS: number({ standard: 0, min: 0, max: 31_536_000 }),
  SESSION_SECRET_FILE: z.string().default(''),
  DATA_FOLDER: text('./data'),
  JOURNAL: z.string().default(''),
  JOURNAL_PASSWORD_FILE: z.string().default(''),
  JOURNAL_CA_FILE: z.string().default(''),
  UNREPLICATED: onOff('off'),
  ASSETS: text('BTC,ETH,SOL')
    .transform(list)
    .refine((symbols) => symbols.every((symbol) => SYMBOL.test(symbol)), {
      message: 'must be a list such as BTC,ETH (2 to 10 of A-Z 0-9 each)',
    })
    .refine((symbols) => new Set(symbols).size === symbols.length, 'contains a duplicate asset')
    .refine((symbols) => symbols.length <= MAX_ASSETS, `must name at most ${MAX_ASSETS} assets`),
  PRICE_FEED: text(
    'simulated',
    new RegExp(`^(simulated|file:.+|(${VENUE})(,(${VENUE}))*)$`),
    FEEDS,
  ).refine(
    (feed) => feed.startsWith('file:') || new Set(list(feed)).size === list(feed).length,
    'contains a duplicate source',
  ),
  FEED_SPEED: number({ standard: 1, min: 0.001, max: 100_000, integer: false }),
  FEED_SEED: z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number')
    .transform(Number)
    .refine((seed) => seed <= 4_294_967_295, 'must be at most 4294967295')
    .optional(),
  COINBASE_URL: text(VENUES.coinbase.url, /^wss?:\/\//, 'must be a ws or wss URL'),
  KRAKEN_URL: text(VENUES.kraken.url, /^wss?:\/\//, 'must be a ws or wss URL'),
  STARTING_BALANCE: dollars(10_000, MAX_ORDER_MICROS),
  START_AGAIN: onOff('on'),
  HOUSE: onOff('on'),
  HOUSE_FUNDS: dollars(1_000_000, MAX_TRANSFER_MICROS),
  PARTNER_KEYS: z.string().default(''),
  TRUST_PROXY: onOff('off'),
  SITE_ORIGINS: z
    .string()
    .default('')
    .transform((value) => (value === '' ? [] : list(value)))
    .refine((origins) => origins.every((origin) => /^https?:\/\/[^/\s]+$/.test(origin)), {
      message: 'must be a list such as https://example.com,https://www.example.com',
    }),
  PASSWORD_COST_LOG2: number({ standard: 15, min: 10, max: 20 }),
  REQUIRE_JOURNAL: onOff('off'),
  ACCEPT_MISSING_MARK: onOff('off'),
  ACCEPT_CLOCK: onOff('off'),
  ACCEPT_DEMO: onOff('off'),
  SNAPSHOT_EVERY_COMMANDS: number({ standard: 2_000_000, min: 1_000, max: 1_000_000_000 }),
  SNAPSHOT_EVERY_SECONDS: number({ standard: 300, min: 10, max: 86_400 }),
  DAY_FILES: number({ standard: 30, min: 0, max: 10_000 }),
  HISTORY_DAYS: number({ standard: 0, min: 0, max: 10_000 }),
  SEGMENT_MEGABYTES: number({ standard: 1_024, min: 1, max: 65_536 }),
  KEY_RESULTS_MEGABYTES: number({ standard: RECENT_RESULT_WORDS / 262_144, min: 0, max: 2_048 }),
  FAIR_USE: onOff('on'),
  // A batch costs one unit per operation, so the largest batch must fit.
  ORDERS_PER_USER: rate('10000/20000', MAX_BATCH_OPERATIONS),
  ORDERS_PER_ADDRESS: rate('50000/100000', MAX_BATCH_OPERATIONS),
  CANCELS_PER_USER: rate('10000/20000', MAX_BATCH_OPERATIONS),
  CANCELS_PER_ADDRESS: rate('50000/100000', MAX_BATCH_OPERATIONS),
  // A page of past markets costs one read per entry.
  READS_PER_USER: rate('5000/10000', PAGE_ENTRIES_MAX),
  READS_PER_ADDRESS: rate('10000/20000', PAGE_ENTRIES_MAX),
  SIGN_INS_PER_USER: rate('1/20'),
  SIGN_INS_PER_ADDRESS: rate('10/500'),
  OVERLOAD_COMMANDS: number({
    standard: OVERLOAD_LIMITS.backlogCommands,
    min: 1,
    max: 1_000_000_000,
  }),
  CONNECTIONS: number({ standard: 10_000, min: 1, max: 1_000_000 }),
  CONNECTIONS_PER_ADDRESS: number({ standard: 2_000, min: 0, max: 1_000_000 }),
  // The minimum holds several answers of hundreds of KiB.
  UNSENT_BYTES: number({ standard: 67_108_864, min: 1_048_576, max: 100_000_000_000 }),
  STREAM_CONNECTIONS: number({ standard: STREAM_LIMITS.connections, min: 0, max: 1_000_000 }),
  LOG_LEVEL: z
    .enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` })
    .default('info'),
});
type Variables = z.output<typeof Variables>;

export const VARIABLE_NAMES = Object.keys(Variables.shape);

export function readConfig(environment: Record<string, string | undefined>) {
  const { PARTNER_KEYS: keys = '' } = environment;
  // If partners deposit real money, accounts get play money only if the operator asks for it.
  const noPlayMoney = keys === '' ? {} : { STARTING_BALANCE: '0', START_AGAIN: 'off' };
  const result = Variables.safeParse({ ...noPlayMoney, ...environment });
  if (!result.success) {
    const lines = result.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);
    throw new ConfigError(lines.join('\n'));
  }
  const variables = result.data;
  checkRole(variables);
  checkEffect(variables);
  const feed = priceFeed(variables);
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = variables;
  return {
    settings: settingsIn(environment, variables),
    role: variables.ROLE,
    host: variables.HOST,
    /** The port, or 0 for any free one. */
    port: variables.PORT,
    tls: certFile === '' ? null : { certFile, keyFile },
    /** Threads that hold the public connections; with 0, the trading thread does. */
    edgeThreads: edgeThreadsOf(variables),
    operationsHost: variables.OPERATIONS_HOST,
    /** `null` if operators and metrics have no separate address. */
    operationsPort: variables.OPERATIONS_PORT ?? null,
    operatorKeys: keysOf('OPERATOR_KEYS', variables.OPERATOR_KEYS),
    replicas: replicasOf(variables),
    /** Address as host:port; empty for the address for replicas. */
    advertiseAddress: variables.ADVERTISE_ADDRESS,
    replicasKeyFile: variables.REPLICAS_KEY_FILE,
    /** A replica without a leader answers reads up to this age of its state. */
    replicaAgeMs: variables.REPLICA_AGE_SECONDS * 1_000 || Number.POSITIVE_INFINITY,
    /** The file's path; empty for the file in the data folder. */
    sessionSecretFile: variables.SESSION_SECRET_FILE,
    dataFolder: variables.DATA_FOLDER,
    /** `null` if the journal is in the data folder. */
    journal: journalOf(variables),
    assets: variables.ASSETS,
    feed,
    pricesFrom: feed.kind,
    startingBalanceMicros: variables.STARTING_BALANCE,
    startAgain: variables.START_AGAIN && variables.STARTING_BALANCE > 0,
    houseFundsMicros: variables.HOUSE ? variables.HOUSE_FUNDS : 0,
    partnerKeys: keysOf('PARTNER_KEYS', variables.PARTNER_KEYS),
    trustProxy: variables.TRUST_PROXY,
    siteOrigins: variables.SITE_ORIGINS,
    passwordCostLog2: variables.PASSWORD_COST_LOG2,
    requireJournal: variables.REQUIRE_JOURNAL,
    acceptMissingMark: variables.ACCEPT_MISSING_MARK,
    acceptClock: variables.ACCEPT_CLOCK,
    acceptDemo: variables.ACCEPT_DEMO,
    snapshotEveryCommands: variables.SNAPSHOT_EVERY_COMMANDS,
    /** Interval in the exchange's time. */
    snapshotEveryMs: variables.SNAPSHOT_EVERY_SECONDS * 1_000,
    /** Number of days per asset that have a file of their events; 0 for none. */
    dayFiles: variables.DAY_FILES,
    historyDays: variables.HISTORY_DAYS,
    segmentBytes: variables.SEGMENT_MEGABYTES * 1_048_576,
    /** Memory for results of repeated keys, in words of 4 bytes. */
    keyResultWords: variables.KEY_RESULTS_MEGABYTES * 262_144,
    /** Whether address space for all limits is reserved at startup. */
    reservesMemory: true,
    fairUse: fairUseRates(variables),
    overload: { ...OVERLOAD_LIMITS, backlogCommands: variables.OVERLOAD_COMMANDS },
    connections: connectionLimits(variables),
    unsent: {
      bytes: variables.UNSENT_BYTES,
      bytesPerAddress: variables.UNSENT_BYTES / 4,
      ms: UNSENT_MS,
    },
    stream: { ...STREAM_LIMITS, connections: variables.STREAM_CONNECTIONS },
    logLevel: variables.LOG_LEVEL,
  };
}

/** Variables that differ from their defaults. Keys appear only by their holders' names. */
function settingsIn(
  environment: Record<string, string | undefined>,
  variables: Variables,
): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const name of VARIABLE_NAMES as (keyof Variables)[]) {
    const value = environment[name];
    if (value === undefined) continue;
    const isKeys = name === 'PARTNER_KEYS' || name === 'OPERATOR_KEYS';
    if (JSON.stringify(variables[name]) !== JSON.stringify(STANDARD[name]))
      settings[name] = isKeys ? value.replace(/:[0-9a-fA-F]{64}/g, '') : value;
  }
  return settings;
}

function checkRole(variables: Variables): void {
  const { ROLE, JOURNAL, REPLICAS_PORT, REPLICAS_KEY_FILE } = variables;
  const isReplica = ROLE === 'replica';
  if (ROLE !== 'leader' && JOURNAL === '') throw new ConfigError(`ROLE=${ROLE} needs JOURNAL`);
  if (isReplica && REPLICAS_KEY_FILE === '')
    throw new ConfigError('ROLE=replica needs REPLICAS_KEY_FILE, the key of the leader');
  if (variables.REPLICA_AGE_SECONDS !== 0 && !isReplica)
    throw new ConfigError('REPLICA_AGE_SECONDS is set, but ROLE=replica is not');
  if (REPLICAS_KEY_FILE !== '' && !isReplica && REPLICAS_PORT === undefined)
    throw new ConfigError(
      'REPLICAS_KEY_FILE is set, but neither REPLICAS_PORT nor ROLE=replica is',
    );
}

const NEEDED = {
  TLS_CERT_FILE: 'TLS_KEY_FILE',
  TLS_KEY_FILE: 'TLS_CERT_FILE',
  OPERATIONS_HOST: 'OPERATIONS_PORT',
  OPERATOR_KEYS: 'OPERATIONS_PORT',
  REPLICAS_HOST: 'REPLICAS_PORT',
  ADVERTISE_ADDRESS: 'REPLICAS_PORT',
  JOURNAL_PASSWORD_FILE: 'JOURNAL',
  JOURNAL_CA_FILE: 'JOURNAL',
  SESSION_SECRET_FILE: 'JOURNAL',
  UNREPLICATED: 'JOURNAL',
} as const;
type Needing = keyof typeof NEEDED;

const STANDARD = Variables.parse({});

/** Refuses a variable without effect, because an operator who sets it expects one. */
function checkEffect(variables: Variables): void {
  const isSet = (name: keyof Variables) => variables[name] !== STANDARD[name];
  for (const name of Object.keys(NEEDED) as Needing[])
    if (isSet(name) && !isSet(NEEDED[name]))
      throw new ConfigError(`${name} is set, but ${NEEDED[name]} is not`);
}

function edgeThreadsOf({ EDGE_THREADS: threads, ROLE }: Variables): number {
  if (threads > 0 && ROLE === 'replica')
    throw new ConfigError('EDGE_THREADS cannot be used with ROLE=replica: remove it');
  return threads;
}

interface ReplicasConfig {
  host: string;
  port: number;
}

function replicasOf(variables: Variables): ReplicasConfig | null {
  const { REPLICAS_PORT: port, REPLICAS_HOST: host } = variables;
  if (port === undefined) return null;
  if (variables.REPLICAS_KEY_FILE === '')
    throw new ConfigError(
      'REPLICAS_PORT needs REPLICAS_KEY_FILE, a file with the keys of replicas',
    );
  if (isAnyAddress(host) && variables.ADVERTISE_ADDRESS === '')
    throw new ConfigError(
      `REPLICAS_HOST=${host} needs ADVERTISE_ADDRESS, the host:port at which replicas reach it`,
    );
  return { host, port };
}

/** A journal on PostgreSQL. Its secrets are read at startup. */
export interface ReplicatedJournal {
  url: string;
  passwordFile: string;
  authorityFile: string;
  isUnreplicated: boolean;
}

function journalOf(variables: Variables): ReplicatedJournal | null {
  const { JOURNAL: url } = variables;
  if (url === '') return null;
  if (!isPostgres(url)) throw new ConfigError('JOURNAL must begin with postgres://');
  return {
    url,
    passwordFile: variables.JOURNAL_PASSWORD_FILE,
    authorityFile: variables.JOURNAL_CA_FILE,
    isUnreplicated: variables.UNREPLICATED,
  };
}

function fairUseRates(variables: Variables): FairUseRates {
  const off = !variables.FAIR_USE;
  const party = (user: Rate | null, address: Rate | null) =>
    off ? { user: null, address: null } : { user, address };
  return {
    orders: party(variables.ORDERS_PER_USER, variables.ORDERS_PER_ADDRESS),
    cancels: party(variables.CANCELS_PER_USER, variables.CANCELS_PER_ADDRESS),
    reads: party(variables.READS_PER_USER, variables.READS_PER_ADDRESS),
    signIns: party(variables.SIGN_INS_PER_USER, variables.SIGN_INS_PER_ADDRESS),
  };
}

/** Behind a proxy, only a WebSocket's request shows the client's address. */
function connectionLimits(variables: Variables): ConnectionLimits {
  const perAddress = variables.TRUST_PROXY ? 0 : variables.CONNECTIONS_PER_ADDRESS;
  const streamsPerAddress = variables.CONNECTIONS_PER_ADDRESS;
  return { total: variables.CONNECTIONS, perAddress, streamsPerAddress };
}

function priceFeed(variables: Variables): PriceFeedConfig {
  const { PRICE_FEED: feed, FEED_SPEED: speed, FEED_SEED: seed } = variables;
  if (feed === 'simulated') return { kind: 'simulated', seed: seed ?? null, speed };
  if (feed.startsWith('file:')) return { kind: 'file', path: feed.slice('file:'.length), speed };
  if (speed !== STANDARD.FEED_SPEED)
    throw new ConfigError(`FEED_SPEED is set, but the prices of ${feed} come in real time`);
  const urls = { coinbase: variables.COINBASE_URL, kraken: variables.KRAKEN_URL };
  const names = list(feed) as VenueName[];
  return { kind: 'live', venues: names.map((name) => ({ name, url: urls[name] })) };
}

/** `name:<sha256 in hex>`, separated by commas; or `file:<path>` of a file with one per line. */
function keysOf(variable: string, value: string): AccessKey[] {
  const form = 'must be name:<sha256 of the key, 64 hex digits>';
  if (!value.startsWith('file:'))
    return keysIn(value, `${variable} ${form}, separated by commas, or file:<path>`);
  const path = value.slice('file:'.length);
  const lines = readKeyFile(variable, path).split('\n');
  return lines.flatMap((line, i) =>
    keysIn(line, `${variable}: line ${i + 1} of ${path} ${form}, or several separated by commas`),
  );
}

function keysIn(text: string, problem: string): AccessKey[] {
  const entries = list(text).filter((entry) => entry !== '');
  return entries.map((entry) => {
    const parts = ACCESS_KEY.exec(entry);
    if (parts === null) throw new ConfigError(problem);
    return { holder: parts[1]!, sha256: Buffer.from(parts[2]!, 'hex') };
  });
}

function readKeyFile(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const said = troubleText(troubleOf(error));
    throw new ConfigError(`${variable} names a file that cannot be read: ${said}`);
  }
}
