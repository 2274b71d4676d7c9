// Opens models in the engine's window, and lists its adapters.

import type { AdapterSummary } from '../../gpu/adapter.ts';
import { badRequest } from '../../files/error.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { AnyModel } from '../session/model.ts';
import type { SessionOptions } from '../kinds/kind-face.ts';
import type { ModelKind } from '../kinds/model-kind.ts';
import { openSleeping } from '../open.ts';
import { openContinuing } from './continuing-model.ts';
import { engine } from './engine.ts';
import { ADAPTERS } from './wire.ts';

/** Opens a model of a kind. Errors: those of openTextModel in main.ts. */
export async function openModel<Options extends SessionOptions, M extends AnyModel>(
  kind: ModelKind<Options, M>,
  options: Options,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<M> {
  kind.check(options);
  if (options.inline)
    throw badRequest('inline is true; in Electron the engine runs in a worker: leave it out', 'inline');
  return openSleeping(kind, options, onEvent, signal, (one, giveUp) =>
    openContinuing({ kind, options: one, onEvent }, giveUp),
  );
}

/** Lists the adapters that the engine's window offers, best first. Throws no_adapter. */
export async function listAdapters(): Promise<AdapterSummary[]> {
  const thread = await engine.start(ADAPTERS);
  try {
    return await thread.worker.call('adapters');
  } finally {
    await thread.stop();
  }
}
