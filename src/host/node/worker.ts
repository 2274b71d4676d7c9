// The engine's thread in Node, which start-worker-node.ts starts: it loads the engine of one kind of model. Dawn's polling is throttled only in
// such a thread, never in the user's own threads.

import { parentPort, workerData } from 'node:worker_threads';
import { destroyDevices } from '../../gpu/node.ts';
import { throttlePolling, untilSettled } from '../../gpu/polling.ts';
import { EMBEDDING_FACE } from '../kinds/embedding.ts';
import { IMAGE_FACE } from '../kinds/image.ts';
import { nodePlatform } from './platform.ts';
import { TEXT_FACE } from '../kinds/text.ts';
import { startTokenizer } from './tokenizer.ts';
import { ModelHost } from '../thread/model-host.ts';
import type { ModelKind, SessionOptions } from '../kinds/model-kind.ts';
import type { AnyModel } from '../session/model.ts';
import type { Port } from '../../engine/platform/port.ts';
import { portOf } from './thread.ts';

/** Milliseconds that Dawn's promises get to settle after the devices were destroyed. */
const SETTLE_TIME = 5000;

const port = portOf(parentPort!);
if (workerData === TEXT_FACE.name) serve(port, (await import('../../engine/text/kind.ts')).TEXT_MODELS);
if (workerData === IMAGE_FACE.name) serve(port, (await import('../../engine/image/kind.ts')).IMAGE_MODELS);
if (workerData === EMBEDDING_FACE.name)
  serve(port, (await import('../../engine/embedding/kind.ts')).EMBEDDING_MODELS);

/** Serves a model to the thread that started this one. */
function serve<Options extends SessionOptions, M extends AnyModel>(
  port: Port,
  { calls, open }: ModelKind<Options, M>,
): void {
  const platform = { ...nodePlatform, tokenizerThread: startTokenizer };
  const host = new ModelHost<Options, M>(port, {
    calls,
    open: (options, onEvent, signal) => open(platform, options, onEvent, signal),
    release: destroyDevices,
    settle: () => untilSettled(SETTLE_TIME),
  });
  throttlePolling();
  // An uncaught error ends the thread, but only after pending promises of the GPU binding have settled.
  process.once('uncaughtException', (error) => {
    void host.fail(error).finally(() => {
      throw error;
    });
  });
}
