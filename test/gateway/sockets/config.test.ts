/** The variables of socket threads. */
import { expect, test } from 'vitest';
import { readConfig } from '../../../gateway/config.js';

const message = (variables: Record<string, string>) => () => readConfig(variables);

test('SOCKET_THREADS needs SOCKETS_PORT, and the other way round', () => {
  expect(message({ SOCKET_THREADS: '2' })).toThrow('SOCKET_THREADS needs SOCKETS_PORT');
  expect(message({ SOCKETS_PORT: '3001' })).toThrow('SOCKETS_PORT is set, but SOCKET_THREADS');
  expect(message({ SOCKET_THREADS: '65', SOCKETS_PORT: '1' })).toThrow('must be between 0 and 64');
  expect(readConfig({}).sockets).toBeNull();
  const { sockets } = readConfig({ SOCKET_THREADS: '2', SOCKETS_PORT: '3001' });
  expect(sockets).toEqual({ threads: 2, port: 3001 });
});

test('a replica has none', () => {
  const replica = { ROLE: 'replica', JOURNAL: 'postgres://journal', REPLICAS_KEY_FILE: 'key' };
  const threads = { SOCKET_THREADS: '2', SOCKETS_PORT: '3001' };
  expect(message({ ...replica, ...threads })).toThrow('SOCKET_THREADS is not for ROLE=replica');
});
