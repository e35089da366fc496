/** How the exchange is doing, read every two seconds. */
import { useEffect } from 'preact/hooks';
import { status } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { dayAndTime, duration, whole } from '../parts/format.js';
import { Panel } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { MetricsPanels } from './metrics-panels.js';

const READ_EVERY_MS = 2_000;
const JOURNALS = {
  local: 'on the disk of its machine',
  replicated: 'on two machines',
  unreplicated: 'in a database that replicates nothing',
} as const;

export default function StatusView() {
  const reading = useReading(() => status(publicApi), 'status');
  const { again } = reading;
  useEffect(() => {
    const timer = setInterval(() => void again(), READ_EVERY_MS);
    return () => clearInterval(timer);
  }, [again]);
  return (
    <>
      <div class="page-head">
        <h1>Status</h1>
        <a href="/api/metrics">All metrics</a>
      </div>
      <div class="columns">
        <Panel title="Exchange">
          <div class="panel-body">
            <Read of={reading}>
              {(now) => (
                <dl class="forecast">
                  <Fact label="Version" value={now.version} />
                  <Fact label="Started" value={dayAndTime(now.startedAtMs)} />
                  <Fact label="Running for" value={duration(now.nowMs - now.startedAtMs)} />
                  <Fact label="Sequence" value={whole(now.sequence)} />
                  <Fact label="Durable up to" value={whole(now.durableSequence)} />
                  <Fact label="Journal" value={JOURNALS[now.journal]} />
                  <Fact label="Digest of the state" value={now.digest} />
                </dl>
              )}
            </Read>
          </div>
        </Panel>
        <MetricsPanels />
      </div>
    </>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
