// Opening a model of any kind in Node.

import { refuseElectron } from '../../gpu/node.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { SessionOptions } from '../kinds/kind-face.ts';
import type { ModelKind } from '../kinds/model-kind.ts';
import { openInline, openSleeping } from '../open.ts';
import type { AnyModel } from '../session/model.ts';
import { openInWorker } from './start-worker.ts';

/** Opens a model of a kind, in its own thread or in this one; with `sleepAfter` it sleeps when it is idle. */
export async function openModel<Options extends SessionOptions, M extends AnyModel>(
  kind: ModelKind<Options, M>,
  options: Options,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<M> {
  refuseElectron();
  kind.check(options);
  return openSleeping(kind, options, onEvent, signal, async (one, giveUp) => {
    if (!options.inline) return openInWorker(kind, one, onEvent, giveUp);
    const { nodePlatform } = await import('./platform.ts');
    return openInline(kind, nodePlatform, one, onEvent, giveUp);
  });
}
