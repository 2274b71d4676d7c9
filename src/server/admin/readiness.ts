// GET /readyz: 200 once every model answers; until then 503 with the progress of each model's opening.

import type { H3Event } from 'h3';
import type { Route, RouteTable } from '../service/route.ts';
import { isAsleep, type Service } from '../service/service.ts';

const SCHEMAS = [() => import('./server-reply-schema.ts')];

const READINESS: Route = {
  handle: readiness,
  summary:
    '200 once every model answers, those that sleep after they are opened again; 503 before that, and while the server stops.',
  group: 'Server',
  reply: 'Ready',
  notReady: 'NotReady',
  schemas: SCHEMAS,
  access: 'open',
};

export const PROBE_ROUTES: RouteTable = {
  '/livez': {
    GET: {
      handle: () => ({ status: 'alive' }),
      summary: '200 as long as the process answers.',
      group: 'Server',
      reply: 'Alive',
      schemas: SCHEMAS,
      access: 'open',
    },
  },
  '/readyz': { GET: READINESS },
  '/health': { GET: READINESS },
};

function readiness({ leaving, slots, onDemand }: Service, event: H3Event): unknown {
  const models = slots.flatMap(({ names, phase }) => (phase.name === 'ready' ? names : []));
  // Requests for models that are opened on demand are answered, whether or not one is open.
  const opening = slots.find(({ phase, demand }) => phase.name === 'starting' && !demand);
  if (!leaving && !opening && onDemand && models.length === 0) return { status: 'ready', models };
  if (!leaving && !opening && models.length > 0) {
    // A model that sleeps answers, after it is opened again.
    const asleep = slots.filter(isAsleep).flatMap(({ names }) => names);
    const status = asleep.length === models.length ? 'asleep' : 'ready';
    return { status, models, ...(asleep.length > 0 && { asleep }) };
  }
  event.res.status = 503;
  event.res.headers.set('retry-after', '1');
  if (leaving) return { status: 'stopping' };
  const progress = opening?.phase.name === 'starting' ? opening.phase.progress : null;
  return { status: 'starting', progress, ...(models.length > 0 && { models }) };
}
