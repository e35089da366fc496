/**
 * Where a journal on PostgreSQL is: a URL that may name several nodes of one cluster, as libpq has
 * it: `postgres://exchange@10.0.0.1:5432,10.0.0.2:5432/exchange`. A password stands in a file,
 * never in the URL, which other users of the machine can see.
 */

export interface PostgresAddress {
  /** At least one. The journal is on whichever of them takes writes. */
  nodes: { host: string; port: number }[];
  user: string;
  database: string;
  /** null: none, as with certificates or trusted addresses. */
  password: string | null;
  /** The certificate of the authority, PEM; null: no TLS. */
  authority: string | null;
}

const SCHEME = /^postgres(?:ql)?:\/\//;
/** User, nodes, database. */
const FORM = /^([\w.-]+)@([^/@]+)\/([\w.-]+)$/;
/** An address of IPv6 or a name, and a port. */
const NODE = /^(?:\[([0-9A-Fa-f:]+)\]|([\w.-]+))(?::(\d{1,5}))?$/;
const DEFAULT_PORT = 5432;
const LOCAL = ['127.0.0.1', '::1', 'localhost'];

/** Whether a journal's address is one on PostgreSQL. */
export function isPostgres(text: string): boolean {
  return SCHEME.test(text);
}

/** @throws Error that says what is wrong; it never repeats a password. */
export function readAddress(
  text: string,
  secrets: { password: string | null; authority: string | null },
): PostgresAddress {
  const parts = FORM.exec(text.replace(SCHEME, ''));
  if (parts === null) {
    throw new Error(
      'must look like postgres://user@host:port,host:port/database; a password stands in ' +
        'JOURNAL_PASSWORD_FILE',
    );
  }
  const [, user, hosts, database] = parts as unknown as [string, string, string, string];
  const nodes = hosts.split(',').map(readNode);
  const address = { nodes, user, database, ...secrets };
  if (secrets.authority === null && nodes.some(({ host }) => !LOCAL.includes(host))) {
    throw new Error(
      'names a node on another machine, so the connection must be encrypted: set JOURNAL_CA_FILE ' +
        'to the certificate of the authority that signed the certificates of the nodes',
    );
  }
  return address;
}

function readNode(text: string): { host: string; port: number } {
  const node = NODE.exec(text);
  const port = Number(node?.[3] ?? DEFAULT_PORT);
  if (node === null || port < 1 || port > 65_535)
    throw new Error(`has ${text} where a host and a port should stand`);
  return { host: (node[1] ?? node[2])!, port };
}

/** For messages: without secrets. */
export function describeAddress({ nodes, user, database }: PostgresAddress): string {
  const hosts = nodes.map(({ host, port }) => `${host}:${port}`).join(',');
  return `postgres://${user}@${hosts}/${database}`;
}
