/** The exchange of a trial: the built program in its own process, with simulated prices. */
import { join } from 'node:path';
import { HOST } from '../support/http/messages.js';
import { ExchangeProcess } from '../support/processes/exchange-process.js';
import { EDGE_VARIABLES } from '../support/programs.js';

/** The exchange may have a long journal to replay. */
const PATIENCE_MS = 5 * 60_000;

export interface TrialExchange {
  process: ExchangeProcess;
  data: string;
  /** The address of the API. */
  url: string;
}

/** `folder`: for its data and its log. `speed`: exchange time per real time. */
export async function startExchange(
  folder: string,
  speed: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<TrialExchange> {
  const data = join(folder, 'data');
  const process = await ExchangeProcess.start(
    {
      environment: {
        PORT: '0',
        HOST,
        DATA_FOLDER: data,
        FEED_SEED: '1',
        FEED_SPEED: `${speed}`,
        STARTING_BALANCE: '1000000',
        HOUSE_FUNDS: '10000000',
        PASSWORD_COST_LOG2: '10',
        FAIR_USE: 'off',
        CONNECTIONS_PER_ADDRESS: '0',
        LOG_LEVEL: 'warn',
        ...EDGE_VARIABLES,
        ...variables,
      },
      logFile: join(folder, 'log.ndjson'),
      nodeOptions: ['--enable-source-maps'],
    },
    PATIENCE_MS,
  );
  return { process, data, url: `http://${HOST}:${process.port}/api` };
}

/** The error lines of a log. A line that is not JSON comes from the runtime. */
export function errorsIn(log: string): string[] {
  const isError = (line: string) =>
    !line.startsWith('{') || ['error', 'fatal'].includes(JSON.parse(line).level);
  return log.split('\n').filter((line) => line !== '' && isError(line));
}
