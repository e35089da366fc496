/**
 * `npm run cluster`: an exchange of several machines, all on this one, to try it out. Exit status
 * 0: stopped by Ctrl-C; 1: it could not start; 2: bad arguments.
 */
import { commandLine, numberFrom } from '../processes/command-line.js';
import { Cluster } from './cluster.js';

const { speed } = commandLine(
  'cluster',
  'Starts three nodes of PostgreSQL and the exchanges and replicas that share them, until Ctrl-C.',
)
  .option('--speed <n>', 'how many times as fast as real time', numberFrom(1, 1_000), 1)
  .parse()
  .opts<{ speed: number }>();

let open: Cluster | null = null;
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // A Ctrl-C during startup takes effect once startup is complete.
    if (!isStopping && open !== null) void stop(open);
    isStopping = true;
  });

async function stop(cluster: Cluster): Promise<void> {
  console.log('Stopping.');
  await cluster.stop();
  process.exit(0);
}

function description({ postgres, exchanges, folder, operatorKey, passwordFile }: Cluster): string {
  const nodes = postgres.nodes.map(
    ({ name, port }) =>
      `  PostgreSQL ${name}  127.0.0.1:${port}${name === postgres.primary.name ? ' (primary)' : ''}`,
  );
  const all = exchanges.map(({ name, url, operationsUrl, pid, isReplica }, i) => {
    const role = isReplica ? 'a replica' : ['leads', 'its standby'][i];
    return `  ${name.padEnd(12)}  ${url} (pid ${pid}, ${role}), for operators ${operationsUrl}`;
  });
  return `The cluster is open.

${[...nodes, ...all].join('\n')}

Trade through the replicas. An exchange or a replica that is killed (kill -9) is started again, an
exchange as the standby of the other. persistence/OPERATIONS.md, "A journal on PostgreSQL", says
what to do when a node of PostgreSQL is killed. To let the standby lead by plan:
  npm run takeover -- --journal ${postgres.urlWithPassword} \\
    --password-file ${passwordFile}
What an operator sees and does, at the address for operators of the one that leads:
  curl -H 'Authorization: Bearer ${operatorKey}' ${exchanges[0]!.operationsUrl}/operator/status

Logs are in ${folder}. Ctrl-C stops everything and removes it.`;
}

let leading = 'exchange-1';

async function sayWhoLeads(cluster: Cluster): Promise<void> {
  const { name, url, operationsUrl } = await cluster.leader();
  if (isStopping || name === leading) return;
  leading = name;
  console.log(`${name} leads now: ${url}, for operators ${operationsUrl}`);
}

console.log('Starting three nodes of PostgreSQL, two exchanges and two replicas.');
const started = await Cluster.start({
  environment: { FEED_SPEED: `${speed}` },
  onEnd: (name, status) => {
    if (isStopping) return;
    const how = typeof status === 'number' ? `has ended with ${status}` : `was killed (${status})`;
    console.log(`${name} ${how}, and is being started again.`);
    if (open !== null) sayWhoLeads(open).catch(({ message }) => console.log(message));
  },
});
open = started;
if (isStopping) await stop(started);
else console.log(description(started));
