// The engine's thread in Node, which start-worker.ts starts: it loads the engine of one kind of model. Dawn's polling is throttled only in
// such a thread, never in the user's own threads.

import { parentPort, workerData } from 'node:worker_threads';
import { destroyDevices } from '../../gpu/node.ts';
import { throttlePolling, untilSettled } from '../../gpu/polling.ts';
import { serveKind } from '../open.ts';
import { nodePlatform } from './platform.ts';
import type { KindPlace } from './start-worker.ts';
import { portOf } from './thread.ts';
import { startTokenizer } from './tokenizer.ts';
import type { AnyKind } from '../kinds/model-kind.ts';

/** Milliseconds that Dawn's promises get to settle after the devices were destroyed. */
const SETTLE_TIME = 5000;

const { module, name } = workerData as KindPlace;
const exported = Object.values((await import(module)) as Record<string, AnyKind | undefined>);
const kind = exported.find((one) => one?.name === name)!;
const platform = { ...nodePlatform, tokenizerThread: startTokenizer };
const host = serveKind(portOf(parentPort!), kind, platform, {
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
