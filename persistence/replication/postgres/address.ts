/**
 * Where a journal on PostgreSQL is: a URL in libpq's format, which may name several nodes of one
 * cluster: `postgres://exchange@10.0.0.1:5432,10.0.0.2:5432/exchange`. A password is in a file,
 * never in the URL, which other users of the machine can see. Each connection reads the files
 * again, so they can be replaced while the exchange runs.
 */
import { readFileSync } from 'node:fs';
import { readPrivateText } from '../../storage/files.js';

export interface PostgresAddress {
  /** At least one node. The journal is on the node that takes writes. */
  nodes: { host: string; port: number }[];
  user: string;
  database: string;
  /**
   * The file with the password; null if none is needed, as with certificates or trusted addresses.
   */
  passwordFile: string | null;
  /** The file with the authority's certificate, PEM; null without TLS. */
  authorityFile: string | null;
}

type SecretFiles = Pick<PostgresAddress, 'passwordFile' | 'authorityFile'>;

/** Reads the secrets; each is null without its file. @throws Error if a file cannot be read */
export function readSecrets({ passwordFile, authorityFile }: SecretFiles) {
  return {
    password: passwordFile === null ? null : readPrivateText(passwordFile),
    authority: authorityFile === null ? null : readFileSync(authorityFile, 'utf8'),
  };
}

const SCHEME = /^postgres(?:ql)?:\/\//;
const FORM = /^([\w.-]+)@([^/@]+)\/([\w.-]+)$/;
const NODE = /^(?:\[([0-9A-Fa-f:]+)\]|([\w.-]+))(?::(\d{1,5}))?$/;
const DEFAULT_PORT = 5432;
const LOCAL = ['127.0.0.1', '::1', 'localhost'];

export function isPostgres(text: string): boolean {
  return SCHEME.test(text);
}

/** Parses an address. @throws Error with the problem; it never repeats a password */
export function readAddress(text: string, files: SecretFiles): PostgresAddress {
  const parts = FORM.exec(text.replace(SCHEME, ''));
  if (parts === null) {
    throw new Error(
      'must look like postgres://user@host:port,host:port/database; a password is in ' +
        'JOURNAL_PASSWORD_FILE',
    );
  }
  const [, user, hosts, database] = parts as unknown as [string, string, string, string];
  const nodes = hosts.split(',').map(readNode);
  const address = { nodes, user, database, ...files };
  if (files.authorityFile === null && nodes.some(({ host }) => !LOCAL.includes(host))) {
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
    throw new Error(`has ${text} where a host and a port should be`);
  return { host: (node[1] ?? node[2])!, port };
}

/** Describes the address without secrets, for messages. */
export function describeAddress({ nodes, user, database }: PostgresAddress): string {
  const hosts = nodes.map(({ host, port }) => `${host}:${port}`).join(',');
  return `postgres://${user}@${hosts}/${database}`;
}
