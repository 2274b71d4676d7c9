// What the server is at: requests that run and wait, and the memory of each model.

import { type ServedModel, serverInfo } from '../api/server-info.ts';
import { bytesText } from '../parts/bytes.ts';
import { RateChart } from './rate-chart.tsx';

export function Activity() {
  const info = serverInfo.value;
  if (!info) return null;
  const sum = (of: 'running' | 'waiting'): number =>
    info.models.reduce((total, { metrics }) => total + (metrics?.[of] ?? 0), 0);
  // The count has the reply that tells it, too.
  const replies = Math.max(0, info.open_replies - 1);
  return (
    <section aria-labelledby="activity-title">
      <h2 id="activity-title">Requests</h2>
      <dl class="counts">
        <div>
          <dt>Running</dt>
          <dd>{sum('running')}</dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd>{sum('waiting')}</dd>
        </div>
        <div>
          <dt>Open replies</dt>
          <dd>{replies}</dd>
        </div>
      </dl>
      <RateChart />
    </section>
  );
}

export function Memory() {
  const open = (serverInfo.value?.models ?? []).filter(({ info }) => info !== undefined);
  if (open.length === 0) return null;
  return (
    <section aria-labelledby="memory-title">
      <h2 id="memory-title">Memory</h2>
      <ul class="models">
        {open.map((model) => (
          <MemoryItem key={model.names[0]} model={model} />
        ))}
      </ul>
    </section>
  );
}

function MemoryItem({ model: { names, phase, info } }: { model: ServedModel }) {
  const { budget, weights, kv, arena } = info!.memory;
  const isAsleep = phase === 'asleep';
  const used = isAsleep ? 0 : weights + (kv ?? 0) + (arena ?? 0);
  const parts = [
    ['weights', weights] as const,
    ...(kv === undefined ? [] : [['cache of tokens', kv] as const]),
    ...(arena === undefined ? [] : [['working memory', arena] as const]),
  ].map(([name, bytes]) => `${name} ${bytesText(bytes)}`);
  const name = names[0] ?? '';
  return (
    <li aria-label={`Memory of ${name}`}>
      <div>
        <strong>{name}</strong> {bytesText(used)} of {bytesText(budget)}
        <meter aria-label={`Memory of ${name}`} min={0} max={budget} value={used} />
        <p class="muted">{isAsleep ? 'asleep: its next request loads it again' : parts.join(' · ')}</p>
      </div>
    </li>
  );
}
