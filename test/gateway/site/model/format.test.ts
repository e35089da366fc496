/**
 * Numbers as the browser's country writes and reads them. Times where clocks are set back: an hour
 * that occurs twice shows its offset.
 */
import { expect, test, vi } from 'vitest';
import { offsetText } from '../../../../gateway/site/app/parts/format.js';

/** Minutes by which a zone's clocks are ahead of UTC. */
function offsetIn(timeZone: string) {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (atMs: number): number => {
    const name = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')!.value;
    const [, sign, hours, minutes] = /GMT(?:([+-])(\d+):(\d+))?/.exec(name)!;
    if (sign === undefined) return 0;
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  };
}

test.for([
  // In New York, clocks go back from 02:00 to 01:00.
  ['America/New_York', '2026-11-01T04:59:00Z', ''],
  ['America/New_York', '2026-11-01T05:00:00Z', ' UTC\u22124'],
  ['America/New_York', '2026-11-01T05:45:00Z', ' UTC\u22124'],
  ['America/New_York', '2026-11-01T06:00:00Z', ' UTC\u22125'],
  ['America/New_York', '2026-11-01T06:45:00Z', ' UTC\u22125'],
  ['America/New_York', '2026-11-01T07:00:00Z', ''],
  // Clocks go forward: an hour is left out, and none occurs twice.
  ['America/New_York', '2026-03-08T07:30:00Z', ''],
  // In Berlin, clocks go back from 03:00 to 02:00.
  ['Europe/Berlin', '2026-10-24T23:45:00Z', ''],
  ['Europe/Berlin', '2026-10-25T00:15:00Z', ' UTC+2'],
  ['Europe/Berlin', '2026-10-25T01:15:00Z', ' UTC+1'],
  ['Europe/Berlin', '2026-10-25T02:00:00Z', ''],
  ['Europe/London', '2026-10-25T01:30:00Z', ' UTC+0'],
  // On Lord Howe Island, clocks go back by half an hour.
  ['Australia/Lord_Howe', '2026-04-04T14:45:00Z', ' UTC+11'],
  ['Australia/Lord_Howe', '2026-04-04T15:15:00Z', ' UTC+10:30'],
  ['UTC', '2026-11-01T05:30:00Z', ''],
] as const)('%s at %s', ([zone, at, text]) => {
  expect(offsetText(Date.parse(at), offsetIn(zone))).toBe(text);
});

test.for([
  [['es-ES'], '$12.345,50', null, '$10.000'],
  [['es-MX', 'es'], '$12,345.50', '12.500', '$10,000'],
  [['de-DE', 'es-MX'], '$12,345.50', '12.500', '$10,000'],
  [['es'], '$12.345,50', null, '$10.000'],
  // Chromium without a locale has a tag that Intl refuses.
  [['es@posix'], '$12.345,50', null, '$10.000'],
] as const)(
  'a browser of %j shows %s, reads 12.500 as %j, and shortens dollars to %s',
  async ([languages, shown, read, short]) => {
    vi.stubGlobal('navigator', { languages });
    vi.resetModules();
    const { dollars, shortDollars } = await import('../../../../gateway/site/app/parts/format.js');
    const { readDecimal } = await import('../../../../gateway/site/app/parts/amount.js');
    vi.unstubAllGlobals();
    expect([dollars(12_345_500_000), readDecimal('12.500')]).toEqual([shown, read]);
    expect([shortDollars(10_000_000_000), shortDollars(12_345_500_000)]).toEqual([short, shown]);
  },
);
