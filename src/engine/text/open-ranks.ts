// A language model that several devices have parts of: each is loaded with its part, and all run the same steps.

import { HostGroup } from '../async/exchange.ts';
import { unsupported } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { Device } from '../../gpu/device.ts';
import { readTextPart } from '../../models/text/registry.ts';
import type { OpenEvent } from '../opening/open-event.ts';
import { withPlace } from '../opening/replicas.ts';
import type { Platform } from '../platform/platform.ts';
import { collect } from '../weights/collect.ts';
import type { TextModelOptions } from './calls/text-model.ts';
import { loadOnto, type LoadedFiles, type LoadedText, type LoadingParts } from './load.ts';
import { rankedRunner } from './ranks/ranked-runner.ts';
import { rankTensors, valuesOf } from './ranks/rank-tensors.ts';
import type { TextFiles } from './text-files.ts';

/** Loads a model onto `device` and those of the other ranks, which it opens. Errors: those of loadOnto and openDevice; unsupported, also for adapters of different kinds. */
export async function loadOnRanks(
  device: Device,
  platform: Platform,
  files: TextFiles,
  options: TextModelOptions & { tpSize: number },
  { kept, loras }: LoadingParts,
  onEvent: (event: OpenEvent) => void,
): Promise<LoadedText> {
  const { tpSize: ranks } = options;
  const parts = partsOf(files, ranks);
  const group = new HostGroup(ranks);
  const shared = { packed: null, loras };
  const rankOf = (rank: number) => ({ ...shared, sums: group.ranks[rank]! });
  const first = await loadOnto(device, parts(0), options, { kept, ...rankOf(0) }, onEvent);
  const peers: LoadedText[] = [];
  try {
    for (let rank = 1; rank < ranks; rank++) {
      const own = await platform.openDevice(withPlace(options, rank));
      const alone = { ...rankOf(rank), kept: first.runner, loras: { attach: async () => {} } };
      try {
        refuseUnlike(device, own, ranks);
        peers.push(await loadOnto(own, parts(rank), options, alone, () => {}));
      } catch (error) {
        own.destroy();
        throw error;
      }
    }
  } catch (error) {
    for (const peer of peers) peer.device.destroy();
    throw error;
  }
  const devices = peers.map((peer) => peer.device);
  loseTogether(device, devices);
  const values = valuesOf(collect(files.checkpoint.tensors, files.config.generate!).requests);
  const runners = peers.map(({ runner }) => runner);
  return {
    ...first,
    runner: rankedRunner(first.runner, runners, values, (error) => {
      group.fail(error);
      // A device that left an exchange is out of step with the others for good, so all are opened again.
      device.destroy(`a step of one of ${ranks} ranks failed: ${error.message}`);
    }),
    peers: devices,
  };
}

/** Throws unsupported for adapters of different kinds: their logits would differ in their last bits, and the devices would draw different tokens. */
function refuseUnlike({ summary: first }: Device, { summary: own }: Device, ranks: number): void {
  const isAlike = (['vendor', 'architecture', 'device', 'description'] as const).every(
    (name) => first[name] === own[name],
  );
  if (isAlike) return;
  const nameOf = ({ description, device }: AdapterSummary): string => description || device;
  throw unsupported(
    say`${option('tpSize')} ${ranks} needs equal GPUs, which compute equal bits, and this machine has ${nameOf(first)} and ${nameOf(own)}: use ${option('dpSize')}, or leave it out`,
    'tpSize',
  );
}

/** Frees the devices of all ranks but the first. */
export async function unloadRanks({ peers = [] }: LoadedText): Promise<void> {
  for (const device of peers) device.destroy();
}

/** The files of each rank. */
function partsOf(
  { checkpoint, config, speech, media }: TextFiles,
  ranks: number,
): (rank: number) => LoadedFiles {
  if (media)
    throw unsupported(
      say`${option('tpSize')} ${ranks} does not divide models that read media yet: use ${option('dpSize')}, or leave it out`,
      'tpSize',
    );
  const { path, architecture, configSource, tensors, shards } = checkpoint;
  const divided = readTextPart(checkpoint.config, architecture, ranks, configSource);
  const own = config.tied === null && divided.tied ? divided.tied.untied : divided;
  const { requests } = collect(tensors, config.generate!);
  return (rank) => ({
    checkpoint: {
      ...{ path, architecture, configSource, shards },
      tensors: new Map(rankTensors(tensors, requests, { rank, ranks })),
    },
    ...{ config: own, speech, media: null },
  });
}

/** A device that is lost takes the others with it, so that all are opened again. */
function loseTogether(first: Device, peers: readonly Device[]): void {
  const all = [first, ...peers];
  for (const [rank, device] of all.entries())
    void device.lost.then((reason) => {
      for (const other of all) if (other !== device) other.destroy(`rank ${rank}: ${reason}`);
    });
}
