// Plans a model in a thread, so that a server's own goes on. This file starts the thread, and is also the file that the thread runs.

import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { withResolvers } from '../../engine/async/resolvers.ts';
import { fromWire, toWire, type WireError } from '../../engine/platform/wire-error.ts';
import type { ModelPlan, PlanOptions } from '../../engine/plan/model-plan.ts';
import { planModel } from './plan.ts';
import { portOf, startThread } from './thread.ts';

const PLAN_THREAD = 'svc-plan';

type Answer = { plan: ModelPlan } | { error: WireError };

/** planModel in a thread of its own. Errors: those of planModel. */
export async function planInThread(options: PlanOptions): Promise<ModelPlan> {
  const thread = startThread(import.meta.url, { workerData: { name: PLAN_THREAD, options } });
  const port = portOf(thread);
  const { promise, resolve, reject } = withResolvers<ModelPlan>();
  port.onLost(reject);
  port.onMessage((message) => {
    const answer = message as Answer;
    if ('plan' in answer) resolve(answer.plan);
    else reject(fromWire(answer.error));
  });
  return promise;
}

if (!isMainThread && parentPort && isPlanThread(workerData)) {
  const port = portOf(parentPort);
  await planModel(workerData.options).then(
    (plan) => port.post({ plan } satisfies Answer),
    (error: unknown) => port.post({ error: toWire(error) } satisfies Answer),
  );
}

function isPlanThread(data: unknown): data is { name: string; options: PlanOptions } {
  return typeof data === 'object' && data !== null && 'name' in data && data.name === PLAN_THREAD;
}
