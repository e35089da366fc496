/**
 * Files for operators: every metric that an alert or panel uses exists with its labels, and the
 * systemd unit and the container image start and stop the exchange.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readReplicaKeys } from '../../gateway/access/replica-keys.js';
import { sharedSecrets } from '../../gateway/access/secret.js';
import { DASHBOARD } from '../../gateway/deploy/dashboard.js';
import { readConfig } from '../../gateway/start/config.js';
import { misspelt } from '../../gateway/start/misspelt.js';
import { readAddress } from '../../persistence/replication/postgres/address.js';
import { extent } from '../support/extent.js';
import { TestServer } from '../support/server.js';
import { ROOT } from '../support/sources.js';
import { healthCheck } from './health-check.js';

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'deploy-'));
  made.push(folder);
  return folder;
}

function fileText(name: string): string {
  return readFileSync(join(ROOT, 'gateway/deploy', name), 'utf8');
}

/** Expressions of all alerts and panels. */
function expressions(): string[] {
  const alerts = [...fileText('prometheus-rules.yml').matchAll(/^ +expr: (.+)$/gm)];
  const targets = DASHBOARD.panels.flatMap((panel) => panel.targets);
  return [...alerts.map(([, expression]) => expression!), ...targets.map(({ expr }) => expr)];
}

describe('alerts and dashboard', () => {
  it('use only metrics that the exchange has', async () => {
    const server = await TestServer.withMarket();
    try {
      const { text } = await server.api.get('/metrics');
      const types = new Map(
        [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]),
      );
      const used = expressions().flatMap((one) => [...one.matchAll(/\bexchange_\w+/g)].flat());
      expect(used.length).toBeGreaterThan(15);
      const replica = readFileSync(join(ROOT, 'gateway/start/replica.ts'), 'utf8');
      for (const name of used) {
        const base = name.replace(/_bucket$/, '');
        // Only a replica has this metric.
        if (replica.includes(`${base}:`)) continue;
        expect(types.has(base), name).toBe(true);
        expect(types.get(base) === 'histogram', name).toBe(name.endsWith('_bucket'));
      }
    } finally {
      await server.stop();
    }
  });

  it('link each alert to a paragraph that there is, and say what each panel shows', () => {
    const rules = fileText('prometheus-rules.yml');
    const links = [...rules.matchAll(/^ +runbook: (\S+)#(\S+)$/gm)];
    expect(links).toHaveLength([...rules.matchAll(/- alert:/g)].length);
    for (const [, file, anchor] of links) {
      const titles = readFileSync(join(ROOT, file!), 'utf8').matchAll(/^#+ (.+)$/gm);
      const anchors = [...titles].map(([, title]) => title!.toLowerCase().replaceAll(' ', '-'));
      expect(anchors, file).toContain(anchor);
    }
    for (const { title, description } of DASHBOARD.panels)
      expect(description, title).toMatch(/\w.*\.$/);
  });

  it('use rates of counters and quantiles of histograms only', () => {
    for (const one of expressions()) {
      for (const [name] of one.matchAll(/\bexchange_\w+(_total|_bucket)\b/g))
        expect(one, name).toContain(`rate(${name}[`);
    }
  });
});

/** Starts the program in a folder, waits until it is ready, and stops it with SIGTERM. */
async function startAndStop(
  command: readonly string[],
  options: { cwd: string; env: Record<string, string>; openFiles?: string },
): Promise<number | null> {
  const shell = `ulimit -n ${options.openFiles ?? '4096'} && exec "$@"`;
  const child = spawn('sh', ['-c', shell, 'sh', ...command], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  let text = '';
  const address = await new Promise<string>((resolve, reject) => {
    const read = (bytes: Buffer) => {
      text += String(bytes);
      const found = /The exchange is open at (\S+)/.exec(text);
      if (found !== null) resolve(found[1]!);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then((status) => reject(new Error(`it ended with ${status}: ${text}`)));
  });
  expect((await fetch(`${address}/ready`)).status).toBe(200);
  expect(await healthCheck(address)).toBe(0);
  child.kill('SIGTERM');
  return ended;
}

function unitValues(key: string): string[] {
  const lines = [...fileText('exchange.service').matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))];
  return lines.map(([, value]) => value!);
}

const isThere = (program: string) => spawnSync(program, ['--version']).status === 0;

describe('the systemd unit', () => {
  it('starts the built program with its command, environment and limit on files, and stops it', async () => {
    const folder = newFolder();
    const inPlace = (text: string) =>
      text.replaceAll('/opt/exchange', ROOT).replaceAll('/var/lib/exchange', join(folder, 'data'));
    const environment = Object.fromEntries(
      inPlace(unitValues('Environment')[0]!)
        .split(' ')
        .map((one) => one.split('=', 2)),
    );
    // The unit refuses an emptied disk. Only the first start may create an exchange.
    const command = inPlace(unitValues('ExecStart')[0]!).split(' ');
    const cwd = inPlace(unitValues('WorkingDirectory')[0]!);
    const env = { ...environment, PORT: '0', PRICE_FEED: 'simulated' };
    await expect(startAndStop(command, { cwd, env })).rejects.toThrow(/REQUIRE_JOURNAL=on/);
    const [first] = /REQUIRE_JOURNAL=off/.exec(fileText('exchange.service'))!;
    const status = await startAndStop(command, {
      cwd,
      env: { ...env, REQUIRE_JOURNAL: first.split('=')[1]! },
      openFiles: `$(n=$(ulimit -Hn); [ "$n" = unlimited ] || [ "$n" -gt ${unitValues('LimitNOFILE')[0]} ] && echo ${unitValues('LimitNOFILE')[0]} || echo $n)`,
    });
    expect(status).toBe(0);
    expect(existsSync(join(folder, 'data', 'journal.db'))).toBe(true);
  });

  it.runIf(isThere('systemd-analyze'))('is valid for systemd', () => {
    const folder = newFolder();
    const unit = join(folder, 'exchange.service');
    // The file can be checked without the program in /opt and without its user.
    const text = fileText('exchange.service')
      .replaceAll('/opt/exchange/node_modules/.bin/node', process.execPath)
      .replaceAll('/opt/exchange', '/');
    execFileSync('sh', ['-c', 'cat > "$0"', unit], { input: text });
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit]);
    const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(unit));
    expect(complaints).toEqual([]);
  });
});

describe('the container image', () => {
  const lines = fileText('Containerfile').split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('FROM '));
  const finalStage = lines.slice(last);

  it('has every file that its command needs', async () => {
    const image = newFolder();
    const copies = finalStage.flatMap((line) => {
      const match = /^COPY --from=build \/opt\/exchange\/(\S+) (\S+)$/.exec(line);
      return match === null ? [] : [{ from: match[1]!, to: match[2]! }];
    });
    expect(copies.map(({ from }) => from)).toContain('dist');
    for (const { from, to } of copies) {
      const target = join(image, to === './' ? from : to);
      mkdirSync(dirname(target), { recursive: true });
      if (from === 'node_modules') symlinkSync(join(ROOT, from), target);
      else cpSync(join(ROOT, from), target, { recursive: true });
    }
    const [, json] = /^CMD (.*)$/m.exec(
      finalStage.filter((line) => line.startsWith('CMD')).join(),
    )!;
    const [node, ...args] = JSON.parse(json!) as string[];
    expect(node).toBe('node');
    const status = await startAndStop([process.execPath, ...args], {
      cwd: image,
      env: { DATA_FOLDER: join(image, 'data'), PORT: '0', PRICE_FEED: 'simulated' },
    });
    expect(status).toBe(0);
  });

  it('is unhealthy when nothing answers', async () => {
    expect(await healthCheck('http://127.0.0.1:9/api')).toBe(1);
  });

  const copied = lines
    .slice(0, last)
    .flatMap((line) => /^COPY (?!--)(.+) \S+$/.exec(line)?.[1]?.split(' ') ?? []);

  it('copies everything that the build reads, by its own list', () => {
    expect(lines.slice(0, last).join('\n')).toMatch(/^RUN npm run build\b/m);
    const inputs = readFileSync(join(ROOT, 'dist/.inputs'), 'utf8').split('\n');
    const paths = inputs.map((line) => line.split(' ')[0]!);
    expect(paths).toContain('gateway/main.ts');
    const isCopied = (path: string) =>
      copied.some((name) => path === name || path.startsWith(`${name}/`));
    expect(paths.filter((path) => !isCopied(path))).toEqual([]);
  });

  it.runIf(extent(1, 0) > 0)('is built from the files that it copies', () => {
    const image = newFolder();
    for (const name of copied) cpSync(join(ROOT, name), join(image, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(image, 'node_modules'));
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: image, stdio: 'pipe' });
    const bundle = readFileSync(join(image, 'dist/gateway/main.js'), 'utf8');
    expect(bundle).toBe(readFileSync(join(ROOT, 'dist/gateway/main.js'), 'utf8'));
  });
});

describe('the compose file', () => {
  const text = fileText('compose.yml');
  /** Returns the block below a key, with its indentation. */
  const under = (key: string, within = text): string => {
    const [, , block] = new RegExp(`^( *)${key}:\\n((?:\\1 +.*\\n|\\s*\\n)*)`, 'm').exec(within)!;
    return block!;
  };
  /** A service's environment on a machine whose .env has JOURNAL only. */
  const environmentOf = (service: string): Record<string, string> => {
    const lines = under('environment', under(service)).trimEnd().split('\n');
    const entries = lines.map((line) => {
      const [name, value] = line.trim().split(/: (.*)/, 2) as [string, string];
      return [name, value.replace(/\$\{\w+:-([^}]*)\}/g, '$1')];
    });
    return Object.fromEntries(entries);
  };
  const JOURNAL = /^# +JOURNAL=(\S+)$/m.exec(text)![1]!;

  it.each([
    ['exchange', 'leader'],
    ['replica', 'replica'],
  ])('sets only variables of the %s that exist, to values that are accepted', (service, role) => {
    const table = readFileSync(join(ROOT, 'gateway/CONFIGURATION.md'), 'utf8');
    const environment = environmentOf(service);
    const names = Object.keys(environment);
    expect(names).toContain('JOURNAL');
    for (const name of names) expect(table, name).toMatch(new RegExp(`^\\|.*\`${name}\``, 'm'));
    const config = readConfig({ ...environment, JOURNAL });
    expect(config.role).toBe(role);
    const secrets = { passwordFile: 'a password', authorityFile: 'a certificate' };
    expect(readAddress(config.journal!.url, secrets).nodes).toHaveLength(3);
    // These settings are common to exchanges and replicas.
    expect(config.replicasKeyFile).toBe('/run/secrets/replicas-key');
    expect(config.sessionSecretFile).toBe('/run/secrets/session-secret');
  });

  it('makes an exchange a standby, whose replicas find it, by what .env may say', () => {
    const ROLE = /^# +ROLE=(\S+)$/m.exec(text)![1]!;
    const config = readConfig({ ...environmentOf('exchange'), JOURNAL, ROLE });
    expect(config.role).toBe('standby');
    const { host, port } = config.replicas!;
    expect(host).toBe('0.0.0.0');
    expect(config.advertiseAddress.split(':')[1]).toBe(`${port}`);
    expect(under('ports', under('exchange'))).toContain(`:${port}:${port}"`);
    expect(/^# +ADDRESS=(\S+)$/m.test(text)).toBe(true);
  });

  it('has no variable of its own that the exchange would take for a misspelt one', () => {
    const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => [name!, '1']);
    expect(misspelt(Object.fromEntries(names))).toEqual([]);
  });

  it('has secrets that are made as it says', () => {
    const make = (name: string) => {
      const [, command] = new RegExp(`^#   secrets/${name} .*: (openssl.*)$`, 'm').exec(text)!;
      const path = join(newFolder(), name);
      execFileSync('sh', ['-c', `umask 077; ${command} > "$0"`, path]);
      return path;
    };
    expect(sharedSecrets(make('session-secret'))[0]).toHaveLength(32);
    expect(readReplicaKeys(make('replicas-key'))[0]).toHaveLength(64);
  });

  it('has every secret, volume and file that it names, and the port of the image', () => {
    const containerfile = fileText('Containerfile');
    const files = [...text.matchAll(/\/run\/secrets\/(\S+)/g)].map(([, name]) => name!);
    expect(files.length).toBeGreaterThan(1);
    for (const name of files) {
      expect(text).toContain(`\n      - ${name}\n`);
      expect(text).toContain(`\n  ${name}:\n    file: ./secrets/${name}\n`);
    }
    const [, dockerfile] = /dockerfile: (\S+)/.exec(text)!;
    expect(existsSync(join(ROOT, dockerfile!))).toBe(true);
    expect(containerfile).toContain('EXPOSE 3000');
    expect(text).toContain(':3000:3000"');
    const volumes = [...text.matchAll(/- ([\w-]+):(\/\w+)\n/g)];
    expect(volumes.map(([, , path]) => path)).toEqual(['/data', '/backup', '/archive', '/data']);
    for (const [, volume, path] of volumes) {
      expect(containerfile).toMatch(new RegExp(`^VOLUME .*${path}\\b`, 'm'));
      expect(text.slice(text.indexOf('\nvolumes:\n'))).toContain(`\n  ${volume}:\n`);
    }
  });
});
