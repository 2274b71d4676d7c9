// A pipeline on several devices, which draw each result together: every rank runs all stages, and where a device has only a part of the work they
// exchange what they computed. The first rank emits the events and decodes the results.

import { badRequest, EngineError } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import type { RankPlace } from '../../gpu/find-adapter.ts';
import type { Platform } from '../platform/platform.ts';
import type { ImageModelOptions } from './calls/image-model.ts';
import { drawTogetherOn } from './draw-request.ts';
import { openWithMemoryPlan } from './open-planned.ts';
import type { OpenedPipeline } from './opened-pipeline.ts';
import { exchangesOf, spentBy, type RankExchanges } from './ranks/exchange.ts';
import { checkTokens, worldOf, type World } from './ranks/world.ts';
import type { Resolved } from './stages/resolved.ts';

/** The pipeline of the first rank, with those of the others. */
export interface RankedPipeline extends OpenedPipeline {
  world: World;
  peers: readonly OpenedPipeline[];
  /** Settled when nothing is drawn. */
  drawing: Promise<unknown>;
}

/** The place of a rank's device among those of all replicas; undefined: the model has one device. */
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
  worldOf(options, false); // before matrices are divided by a size that does not fit
  const first = await openWithMemoryPlan(device, platform, ...given);
  const peers: OpenedPipeline[] = [];
  try {
    const { runner, info } = first;
    const world = worldOf(options, runner.guides(info.defaults.guidance, {}));
    refuseKernels(world, first.attention.denoiser.choice.kernels);
    checkTokens(world, runner.ranks?.tokens, info.pipeline);
    for (let rank = 1; rank < world.ranks / world.dp; rank++) {
      const place = placeOf(options, rank)!;
      const own = await platform.openDevice({ ...options, place });
      try {
        peers.push(await openWithMemoryPlan(own, platform, pipeline, { ...options, rank }, () => {}));
      } catch (error) {
        own.destroy();
        throw error;
      }
    }
    const ranked = { ...first, world, peers, drawing: Promise.resolve() };
    if (peers.length > 0) loseTogether(ranked);
    return ranked;
  } catch (error) {
    await closeRanks({ ...first, peers });
    throw error;
  }
}

/** Throws bad_request for kernels of attention that do not compute what devices divide. */
function refuseKernels({ sp, kvGather, ring }: World, kernels: string): void {
  const backend = say`${option('attentionBackend')} ${kernels}`;
  const dividing =
    kvGather > 1 ? say`${option('kvGatherDegree')} ${kvGather}` : say`${option('ringDegree')} ${ring}`;
  if (kvGather * ring > 1 && kernels === 'sparse')
    throw badRequest(
      say`${backend} leaves keys out for blocks of queries, and ${dividing} divides queries or keys: choose ${option('ulyssesDegree')} ${sp}, or another backend`,
      'attentionBackend',
    );
  if (ring > 1 && (kernels === 'sage' || kernels === 'matrix'))
    throw badRequest(
      say`${backend} needs all keys at once, and ${option('ringDegree')} ${ring} lets them go around: choose ${option('ulyssesDegree')} ${sp}, or another backend`,
      'attentionBackend',
    );
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, unknown, ...infer Rest] ? Rest : never;

/** A device that is lost takes the others with it as soon as they draw nothing, so that all are opened again. */
function loseTogether(ranked: RankedPipeline): void {
  const devices = [ranked.device, ...ranked.peers.map(({ device }) => device)];
  for (const [rank, device] of devices.entries())
    void device.lost.then(async (reason) => {
      await ranked.drawing;
      for (const other of devices) if (other !== device) other.destroy(`rank ${rank}: ${reason}`);
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
export function checkDivided({ world, runner, context, reuseOf }: RankedPipeline, resolved: Resolved): void {
  const { event, call } = resolved;
  const { values } = event;
  const { guidance } = reuseOf(resolved);
  if (world.tp > 1 && (resolved.loras?.length ?? 0) > 0)
    throw badRequest(
      say`LoRAs (${option('loraPath')}, or those of a request) change whole matrices, and ${option('tpSize')} ${world.tp} divides them: leave one of them out`,
      'tpSize',
    );
  if (world.cfg === 1) return;
  const model = context.pipeline.family.name;
  const remedy = say`give ${option('cfgParallelSize')} 1 to draw such requests`;
  if (guidance)
    throw badRequest(
      say`${option('cacheDitConfig')} has guidance_interval, outside of which steps have no second pass for ${option('cfgParallelSize')} ${world.cfg}: leave it out, or ${remedy}`,
      'cacheDitConfig',
    );
  if (!runner.guides(values.guidance, call))
    throw badRequest(
      say`guidance is ${values.guidance}, with which ${model} has no second pass for ${option('cfgParallelSize')} ${world.cfg}: raise it where the model is guided by a negative prompt, or ${remedy}`,
      'guidance',
    );
  const reason = runner.ranks?.passesTogether?.({ values, call }) ?? null;
  if (reason !== null)
    throw badRequest(
      say`${option('cfgParallelSize')} is ${world.cfg}, and ${reason}: ${remedy}`,
      'cfgParallelSize',
    );
}

/** Draws on all ranks; see drawTogetherOn. Requests of several ranks are drawn one at a time. */
export async function drawOnRanks(
  opened: RankedPipeline,
  platform: Platform,
  requests: Requests,
  options: Options,
): Promise<void> {
  if (opened.peers.length === 0) return drawTogetherOn(opened, platform, requests, options);
  const drawing = drawApart(opened, platform, requests, options);
  opened.drawing = drawing.catch(() => {});
  try {
    await drawing;
  } catch (error) {
    if (!(error instanceof EngineError)) await loseWithPeers(opened);
    throw error;
  }
}

type Requests = Parameters<typeof drawTogetherOn>[2];
type Options = Parameters<typeof drawTogetherOn>[3];

const SILENT = { kernels: () => {}, trials: () => {}, note: () => {} };

/** Settles when no rank draws any more. */
async function drawApart(
  opened: RankedPipeline,
  platform: Platform,
  [request]: Requests,
  options: Options,
): Promise<void> {
  const { peers } = opened;
  const group = exchangesOf(opened.world);
  const [exchange, ...others] = group.ranks as [RankExchanges, ...RankExchanges[]];
  const leave = (error: unknown): void => {
    if (error !== null) group.fail(error);
  };
  const { resolved, signal } = request;
  const quiet = {
    resolved: { ...resolved, request: { ...resolved.request, previews: 0 } },
    ...{ signal, emit: () => {}, ended: leave },
  };
  const settings = { ...options, profile: false, tune: false, report: SILENT };
  const ended = (error: unknown): void => {
    leave(error);
    request.ended?.(error);
  };
  const first = drawTogetherOn(opened, platform, [{ ...request, ended }], { ...options, exchange });
  const drawings = [
    first,
    ...peers.map((peer, i) => drawTogetherOn(peer, platform, [quiet], { ...settings, exchange: others[i]! })),
  ];
  await Promise.allSettled(drawings.map((one) => one.catch(leave)));
  await first;
  request.emit({ type: 'exchange', ranks: group.ranks.length, ...spentBy(exchange) });
}

/** Gives the first device up if one of the others is lost, so that the loss is found. */
async function loseWithPeers({ device, peers }: RankedPipeline): Promise<void> {
  for (const [i, peer] of peers.entries()) {
    const reason = await peer.device.loss();
    if (reason !== null) device.destroy(`rank ${1 + i}: ${reason}`);
  }
}
