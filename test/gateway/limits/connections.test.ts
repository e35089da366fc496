/**
 * An attacker with many addresses and accounts opens every connection it can for twenty minutes.
 * Others can always connect.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { describe, expect, test } from 'vitest';
import { ConnectionCap } from '../../../gateway/access/fair-use/connections.js';
import type { Connection } from '../../../gateway/stream/connection.js';
import { Connections } from '../../../gateway/stream/connections.js';

const SIZE = 10_000;
const PER_ADDRESS = 2_000;
const LONG_MS = 1_200_000;
const TURN_MS = 9_000;
const ADA = 250;

class Http {
  nowMs = 0;
  private refused = false;
  private readonly cap = new ConnectionCap(
    { total: SIZE, perAddress: PER_ADDRESS, streamsPerAddress: PER_ADDRESS },
    { upgradedCount: 0, connectionCount: 0 },
    () => this.nowMs,
  );

  opens(address: number): boolean {
    this.refused = false;
    const response = this.from(address);
    this.cap.changed(response, 1);
    if (this.refused) this.cap.changed(response, -1);
    return !this.refused;
  }

  closes(address: number): void {
    this.cap.changed(this.from(address), -1);
  }

  requests(address: number): void {
    this.cap.requested(this.from(address));
  }

  private from(address: number): HttpResponse {
    return {
      getRemoteAddress: () => Uint8Array.of(10, 0, 0, address).buffer,
      close: () => (this.refused = true),
    } as unknown as HttpResponse;
  }
}

describe.each([5, 100])('connections, %i addresses that keep all they get', (addresses) => {
  test('leave room for a browser somewhere else', () => {
    const http = new Http();
    const held = new Array<number>(addresses).fill(0);
    for (; http.nowMs < LONG_MS; http.nowMs += TURN_MS) {
      for (let address = 0; address < addresses; address++) {
        while (http.opens(address)) held[address]!++;
        for (let i = 0; i < held[address]!; i++) http.requests(address);
      }
      for (let i = 0; i < 6; i++) expect(http.opens(ADA), `after ${http.nowMs} ms`).toBe(true);
      for (let i = 0; i < 6; i++) http.closes(ADA);
    }
    expect(Math.max(...held)).toBeLessThanOrEqual(PER_ADDRESS);
    expect(held.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(SIZE / 2);
  });
});

test('streams of free accounts leave room for newcomers elsewhere, and a half for users', () => {
  const isNewcomer = (userId: number) => userId < ADA;
  const streams = new Connections(isNewcomer, (userId) => userId);
  const opens = (address: number, userId: number): boolean => {
    if (!streams.mayOpen(address, userId, SIZE)) return false;
    streams.add({ address, userId } as Connection);
    return true;
  };
  for (let address = 1; address <= 100; address++) while (opens(address, address));
  expect(streams.count).toBeGreaterThan(SIZE / 4);
  expect(streams.count).toBeLessThanOrEqual(SIZE / 2);
  expect(opens(101, 0)).toBe(true);
  // The users at one of those addresses have paid a dollar of fees each.
  for (let userId = ADA + 1; userId <= ADA + 500; userId++) while (opens(1, userId));
  for (let i = 0; i < 5; i++) expect(opens(1, ADA)).toBe(true);
  // Established users together can use the reserve.
  for (let userId = ADA + 501; streams.count < SIZE; userId++) expect(opens(2, userId)).toBe(true);
  expect(opens(3, ADA)).toBe(false);
});
