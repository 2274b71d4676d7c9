// GET /models/sse: the state of every model, and each change of it as it comes.

import type { H3Event } from 'h3';
import { createEventStream, EVENTS } from '../http/sse.ts';
import { currentCaller, isFor } from '../service/caller.ts';
import { downloadStatus, type ModelStatus, statusOf } from '../service/model-status.ts';
import type { Route } from '../service/route.ts';
import { type Change, requireRunning, type Service, type Slot } from '../service/service.ts';

const KEEP_ALIVE = 5000;

export const CHANGES: Route = {
  handle: changes,
  summary: 'The state of every model, and each change of it, as events.',
  group: 'Models',
  event: 'ModelChange',
  schemas: [() => import('./manage-reply-schema.ts')],
};

function changes(service: Service, event: H3Event): ReadableStream<Uint8Array> {
  requireRunning(service);
  const { slots, watchers, onDemand, options } = service;
  const caller = currentCaller();
  const leave = (): void => void watchers.delete(watch);
  const keepAlive = options.keepAlive ?? KEEP_ALIVE;
  const stream = createEventStream({ keepAlive, onRoom() {}, onCancel: leave });
  const sent = new Map<string, string>();
  const tell = (
    model: string,
    status: ModelStatus,
    { names = [model], ...more }: { names?: readonly string[]; removed?: true } = {},
  ): void => {
    if (!isFor(caller, names)) return;
    const said = JSON.stringify({ model, status, ...more });
    if (sent.get(model) === said) return;
    sent.set(model, said);
    stream.send({ model, status, ...more });
  };
  const tellSlot = (slot: Slot): void =>
    slot.names.forEach((name) => tell(name, statusOf(slot), { names: slot.names }));
  const watch = (change: Change): void => {
    if ('isStopping' in change) {
      leave();
      stream.end();
    } else if ('download' in change) {
      const { id } = change.download;
      if (!change.isOver) return tell(id, downloadStatus(change.download));
      const slot = slots.find(({ names }) => names.includes(id));
      if (slot) tellSlot(slot);
      else tell(id, { value: 'unloaded', ...failure(change.error) }, { removed: true });
    } else if (change.isGone) {
      const { names } = change.slot;
      for (const name of names) tell(name, { value: 'unloaded' }, { names, removed: true });
    } else tellSlot(change.slot);
  };
  for (const [name, value] of Object.entries(EVENTS.headers)) event.res.headers.set(name, value);
  for (const slot of slots) tellSlot(slot);
  for (const download of onDemand?.downloads.running ?? []) tell(download.id, downloadStatus(download));
  watchers.add(watch);
  return stream.body;
}

/** What an event says of a download that failed. */
function failure(error: Error | null | undefined): Pick<ModelStatus, 'failed' | 'error'> {
  return error ? { failed: true, error: error.message } : {};
}
