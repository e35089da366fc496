/**
 * The program: reads the environment, starts the exchange, prints how to make a first trade, stops
 * cleanly on SIGTERM or SIGINT, and reloads keys, secrets and the certificate on SIGHUP. Only this
 * file reads the environment. Logs go to standard error, text for people to standard output.
 */
import '../persistence/compiler-flags.js';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { FilesGone, JournalError } from '../persistence/journal/errors.js';
import { programVersion } from '../persistence/storage/program-folder.js';
import { troubleOf, troubleText } from '../persistence/storage/trouble.js';
import type { TlsFiles } from './http/acceptor.js';
import { hostAndPort, isAnyAddress, schemeOf } from './http/listen-addresses.js';
import { createLog, type Log, leavesHoles } from './observe/log.js';
import { type Config, readConfig } from './start/config.js';
import { ConfigError } from './start/config-error.js';
import { checkCertificate, warnOfOpenAddresses } from './start/encryption.js';
import { type Running, startExchange } from './start/exchange.js';
import { misspelt } from './start/misspelt.js';
import {
  affordableConnections,
  checkAddressSpace,
  type ProcessLimits,
  processLimits,
  reservedFiles,
} from './start/process-limits.js';
import { startReplica } from './start/replica.js';

/** Exit status if the data folder is gone, when a restart would create an empty exchange. */
const FILES_GONE = 3;

async function main(): Promise<void> {
  checkNode();
  readArguments();
  // A failed write to stdout, for example on a full disk, must not stop the exchange.
  process.stdout.on('error', () => {});
  const asked = readConfig(process.env);
  const log = createLog(asked.logLevel);
  if (leavesHoles())
    log.warn('THE LOG CANNOT BE ROTATED: it is a file that was not opened for appending. Use 2>>');
  for (const [variable, like] of misspelt(process.env))
    log.warn({ variable, like }, 'this variable is unknown and has no effect: is it misspelt?');
  const config = withinLimits(asked, processLimits(), log);
  if (config.tls !== null) await checkCertificate(config.tls, log);
  warnOfOpenAddresses(config, log);
  // Clients get no answer, because only the journal knows the outcome. Print the reason last.
  const onFatal = (error: Error) => {
    console.error(`The exchange has ended: ${problemText(error)}`);
    process.exit(error instanceof FilesGone ? FILES_GONE : 1);
  };
  const waiting = new AbortController();
  let exchange: Running | null = null;
  const stop = () => {
    if (exchange === null) waiting.abort();
    else void shutDown(exchange);
  };
  // A standby may wait for months, and must also stop cleanly.
  if (config.role === 'standby') onSignals(stop);
  let mayHaveOthers = false;
  let reloaded = Promise.resolve();
  onHangUp(stop, () => {
    const running = exchange;
    if (running === null) {
      mayHaveOthers = true;
      log.info('keys, secrets and the certificate are read again before this process serves');
      if (config.tls !== null) void checkNextCertificate(config.tls, log);
    } else reloaded = reloaded.then(() => reload(running, config, log));
  });
  const onHandedOver = () => {
    console.log(
      'This exchange has ended its lease for a standby, as it was asked to, and has stopped.',
    );
    process.exit(0);
  };
  const { signal } = waiting;
  try {
    const options = { config, log, onFatal, signal, onHandedOver };
    exchange =
      config.role === 'replica' ? await startReplica(options) : await startExchange(options);
  } catch (error) {
    if (!signal.aborted) throw error;
    console.log('The standby has stopped, as it was asked to.');
    process.exit(0);
  }
  if (config.role !== 'standby') onSignals(stop);
  // A standby was asked to stop between its wait and its first request.
  if (signal.aborted) return shutDown(exchange);
  if (mayHaveOthers) await reload(exchange, config, log);
  warnIfDemonstration(config, log);
  if ('isNew' in exchange && exchange.isNew) warnOfNewExchange(config, log);
  console.log(addresses(exchange, config));
  if (config.role !== 'replica' && config.feed.kind !== 'live')
    console.log(firstTrade(baseOf(exchange.port, config), config.assets[0]!));
}

function warnIfDemonstration({ role, feed, startingBalanceMicros }: Config, log: Log): void {
  if (role === 'replica') return;
  if (feed.kind !== 'live') log.warn('PRICES ARE NOT REAL: they are simulated or from a file');
  if (startingBalanceMicros > 0) log.warn('PLAY MONEY: every new account is given some');
}

/** An unmounted volume also looks like a new exchange. */
function warnOfNewExchange({ dataFolder, journal }: Config, log: Log): void {
  const place = journal === null ? resolve(dataFolder) : journal.url;
  log.warn(
    { journal: place },
    `A NEW, EMPTY EXCHANGE: there was no journal in ${place}, and one was created. If you expected a ` +
      'journal there, stop now: a volume may be missing, or DATA_FOLDER may be wrong. ' +
      'REQUIRE_JOURNAL=on refuses such a startup',
  );
}

/** All settings are in the environment, so an argument is a mistake or asks for help. */
function readArguments(): void {
  new Command('exchange')
    .description(
      'Starts an exchange. It is configured by the variables of gateway/CONFIGURATION.md.',
    )
    .version(programVersion())
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .parse();
}

/**
 * An older Node.js would start, then fail at the first answer with a decimal.
 * @throws if it is too old
 */
function checkNode(): void {
  if (typeof JSON.rawJSON === 'function') return;
  throw new Error(
    `it needs Node.js 22, and this is ${process.version}. "npm start" uses the one that npm has ` +
      'installed, node_modules/.bin/node.',
  );
}

function onSignals(stop: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
}

/** A closed terminal also sends SIGHUP, which stops the program; otherwise SIGHUP means reload. */
function onHangUp(stop: () => void, again: () => void): void {
  process.on('SIGHUP', process.stdin.isTTY ? stop : again);
}

/** A process that does not serve yet reads the files when it starts to serve. */
async function checkNextCertificate(tls: TlsFiles, log: Log): Promise<void> {
  try {
    await checkCertificate(tls, log);
  } catch (error) {
    log.error({ problem: problemText(error) }, 'this process cannot serve with these files');
  }
}

/** Wrong files change nothing. Keys and the certificate are read separately. */
async function reload(exchange: Running, { tls }: Config, log: Log): Promise<void> {
  await reloadKeys(exchange, log);
  if (tls === null) return;
  try {
    await checkCertificate(tls, log);
    await exchange.renewCertificate();
    log.info('new connections have the certificate that was read again');
  } catch (error) {
    log.error({ problem: problemText(error) }, 'the certificate stays as it was');
  }
}

async function reloadKeys(exchange: Running, log: Log): Promise<void> {
  try {
    const config = readConfig(process.env);
    const read = await exchange.reload(config);
    const [partnerKeys, operatorKeys] = [config.partnerKeys.length, config.operatorKeys.length];
    log.info({ partnerKeys, operatorKeys, ...read }, 'keys and secrets were read again');
  } catch (error) {
    log.error({ problem: problemText(error) }, 'keys and secrets stay as they were');
  }
}

/** @throws if the operating system's limits are too low */
function withinLimits(config: Config, limits: ProcessLimits, log: Log): Config {
  const { edgeThreads } = config;
  checkAddressSpace(limits, edgeThreads);
  const connections = affordableConnections(limits, config.connections, edgeThreads);
  if (connections !== config.connections) {
    const asked = config.connections.total;
    log.warn(
      { openFiles: limits.openFiles, asked, connections },
      `CONNECTIONS is lowered to ${connections.total}, as the limit on open files allows: ${asked} connections ` +
        `need ${asked + reservedFiles(edgeThreads)} open files (ulimit -n; LimitNOFILE= in systemd)`,
    );
  }
  return { ...config, connections };
}

async function shutDown(exchange: Running): Promise<void> {
  try {
    await exchange.stop();
    process.exit(0);
  } catch (error) {
    console.error(`The exchange did not stop cleanly: ${problemText(error)}`);
    process.exit(1);
  }
}

function baseOf(port: number, { host, tls }: Config): string {
  return `${schemeOf(tls)}://${hostAndPort(isAnyAddress(host) ? '127.0.0.1' : host, port)}/api`;
}

function addresses({ port }: Pick<Running, 'port'>, config: Config): string {
  const base = baseOf(port, config);
  return `The exchange is open at ${base}
The site, for a browser: ${base.slice(0, -'/api'.length)}
How to use it: ${base}/docs
`;
}

function firstTrade(base: string, asset: string): string {
  return `A first trade (register, buy 10 dollars of UP, check the balance):

  API=${base}
  ME=$(curl -s $API/auth/register -H 'Content-Type: application/json' \\
    -d '{"username":"trader-'$RANDOM'","password":"correct horse battery"}')
  TOKEN=$(echo "$ME" | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  ID=$(echo "$ME" | sed 's/.*"userId":"\\([^"]*\\)".*/\\1/')
  until MARKET=$(curl -s "$API/markets/15m?asset=${asset}" | grep -o '"id":"[^"]*"' | cut -d'"' -f4)
    [ -n "$MARKET" ]; do sleep 1; done
  curl -s $API/markets/15m/$MARKET/buy -H "x-user-token: $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"userId":"'$ID'","outcome":"UP","amount":10}'; echo
  curl -s $API/users/$ID/balance -H "x-user-token: $TOKEN"; echo
`;
}

/** The error as text for the operator, without a stack trace. */
function explain(error: unknown): string {
  if (error instanceof ConfigError) return `The configuration is not valid:\n${error.message}`;
  if (error instanceof JournalError) return `The journal was refused: ${error.message}`;
  return `The exchange cannot start: ${problemText(error)}`;
}

function problemText(error: unknown): string {
  return troubleText(troubleOf(error));
}

main().catch((error: unknown) => {
  console.error(explain(error));
  process.exit(1);
});
