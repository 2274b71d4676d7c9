// A pipeline on several devices, which draw each result together: every rank runs all stages, and where a device has only a part of the work they
// exchange what they computed. The first rank emits the events and decodes the results.

import { badRequest, EngineError } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import type { RankPlace } from '../../gpu/find-adapter.ts';
import type { OnDevice } from '../opening/served.ts';
import type { Platform } from '../platform/platform.ts';
import type { ImageModelOptions } from './calls/image-model.ts';
import { drawTogetherOn } from './draw-request.ts';
import { openWithMemoryPlan } from './open-planned.ts';
import type { OpenedPipeline } from './opened-pipeline.ts';
import { HostGroup } from './ranks/exchange.ts';
import { refuseUnbuilt, worldOf, type World } from './ranks/world.ts';
import type { Resolved } from './stages/resolved.ts';

/** The pipeline of the first rank, with those of the others. */
export interface RankedPipeline extends OpenedPipeline {
  world: World;
  peers: readonly OpenedPipeline[];
}

/** Where the device of a rank of this model is; undefined: the model has one device. */
export function placeOf(
  { numGpus: ranks = 1, dpSize = 1, replica = 0, logicalRanks = false }: ImageModelOptions,
  rank = 0,
): RankPlace | undefined {
  if (ranks === 1) return undefined;
  return { rank: (replica * ranks) / dpSize + rank, ranks, isLogical: logicalRanks };
}

/** Opens a pipeline on `device` and on those of the other ranks, which it opens. Errors: those of openWithMemoryPlan and openDevice. */
export async function openOnRanks(
  device: Device,
  platform: Platform,
  ...given: Tail<Parameters<typeof openWithMemoryPlan>>
): Promise<RankedPipeline> {
  const [pipeline, options] = given;
  const first = await openWithMemoryPlan(device, platform, ...given);
  const peers: OpenedPipeline[] = [];
  try {
    const { runner, info } = first;
    const world = worldOf(options, runner.guides(info.defaults.guidance, {}));
    refuseUnbuilt(world);
    for (let rank = 1; rank < world.ranks / world.dp; rank++) {
      const place = placeOf(options, rank)!;
      const own = await platform.openDevice({ ...options, place });
      try {
        peers.push(await openWithMemoryPlan(own, platform, pipeline, options, () => {}));
      } catch (error) {
        own.destroy();
        throw error;
      }
    }
    loseTogether([first, ...peers]);
    return { ...first, world, peers };
  } catch (error) {
    await closeRanks({ ...first, peers });
    throw error;
  }
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, unknown, ...infer Rest] ? Rest : never;

/** A device that is lost takes the others with it, so that all are opened again. */
function loseTogether(all: readonly OnDevice[]): void {
  for (const [rank, { device }] of all.entries())
    void device.lost.then((reason) => {
      for (const other of all) if (other.device !== device) other.device.destroy(`rank ${rank}: ${reason}`);
    });
}

/** Closes the components of all ranks, and destroys the devices of all but the first. */
export async function closeRanks({
  components,
  peers,
}: Pick<RankedPipeline, 'components' | 'peers'>): Promise<void> {
  const closed = await Promise.allSettled(
    [components, ...peers.map((one) => one.components)].map((one) => one.close()),
  );
  for (const { device } of peers) device.destroy();
  const failed = closed.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Throws bad_request for a request of which ranks have nothing to compute. */
export function checkDivided({ world, runner, context }: RankedPipeline, { event, call }: Resolved): void {
  if (world.cfg === 1) return;
  const { values } = event;
  const model = context.pipeline.family.name;
  const remedy = say`give ${option('cfgParallelSize')} 1 to draw such requests`;
  if (!runner.guides(values.guidance, call))
    throw badRequest(
      say`guidance is ${values.guidance}, with which ${model} has no second pass for ${option('cfgParallelSize')} ${world.cfg}: raise it where the model is guided by a negative prompt, or ${remedy}`,
      'guidance',
    );
  const reason = runner.passesTogether?.({ values, call }) ?? null;
  if (reason !== null)
    throw badRequest(
      say`${option('cfgParallelSize')} is ${world.cfg}, and ${reason}: ${remedy}`,
      'cfgParallelSize',
    );
}

/** Draws on all ranks; see drawTogetherOn. Requests of several ranks are drawn one at a time. */
export async function drawOnRanks(
  opened: RankedPipeline,
  ...[platform, requests, options]: Tail1<Parameters<typeof drawTogetherOn>>
): Promise<void> {
  const { peers } = opened;
  if (peers.length === 0) return drawTogetherOn(opened, platform, requests, options);
  const [request] = requests;
  const group = new HostGroup(1 + peers.length);
  const leave = (error: unknown): void => {
    if (error !== null) group.fail(error);
  };
  const { resolved, signal } = request;
  const silent = { ...resolved, request: { ...resolved.request, previews: 0 } };
  const { kernels, trials } = { kernels: () => {}, trials: () => {} };
  const others = peers.map((peer, i) =>
    drawTogetherOn(peer, platform, [{ resolved: silent, signal, emit: () => {}, ended: leave }], {
      ...options,
      ...{ profile: false, tune: false, exchange: group.ranks[1 + i]! },
      report: { kernels, trials, note: () => {} },
    }).catch(leave),
  );
  const ended = (error: unknown): void => {
    leave(error);
    request.ended?.(error);
  };
  const exchange = group.ranks[0]!;
  try {
    await drawTogetherOn(opened, platform, [{ ...request, ended }], { ...options, exchange }).catch(
      (error) => {
        leave(error);
        throw error;
      },
    );
    request.emit({ type: 'exchange', ranks: exchange.ranks, ...exchange.spent });
  } catch (error) {
    if (!(error instanceof EngineError)) await loseWithPeers(opened);
    throw error;
  } finally {
    await Promise.all(others);
  }
}

type Tail1<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;

/** Gives the first device up if one of the others is lost, so that the loss is found. */
async function loseWithPeers({ device, peers }: RankedPipeline): Promise<void> {
  for (const [i, peer] of peers.entries()) {
    const reason = await peer.device.loss();
    if (reason !== null) device.destroy(`rank ${1 + i}: ${reason}`);
  }
}
