// A text model on several devices, each of which has a part of every matrix and of the heads: all run the same steps, and draw the same tokens,
// because all get the same logits. The first one's results count.

import type { Launched, SampledTokens } from '../step/launch.ts';
import type { Runner } from '../step/text-runner.ts';

/** `fail`: ends the exchange between the devices with an error, and gives the devices up. */
export function rankedRunner(
  first: Runner,
  peers: readonly Runner[],
  parameters: number,
  fail: (error: Error) => void,
): Runner {
  const all = [first, ...peers];
  return {
    ...first,
    parameters,
    pageCleaner: {
      ahead: (pages) => all.forEach(({ pageCleaner }) => pageCleaner.ahead(pages)),
      clear: (pages) => all.forEach(({ pageCleaner }) => pageCleaner.clear(pages)),
      restart: () => all.forEach(({ pageCleaner }) => pageCleaner.restart()),
    },
    launcher: { launch: (...given) => launchOn(all, given, fail) },
    async warmUp(onProgress) {
      await first.warmUp(onProgress);
      for (const peer of peers) await peer.warmUp(() => {});
    },
    warmLater: () => Promise.resolve(), // `warmUp` compiles all
    tune: (options) => first.tune(options),
    movePages: (moves) => all.forEach((runner) => runner.movePages(moves)),
    readPages: (pages) => first.readPages(pages),
    readStates: (copies) => first.readStates(copies),
    checkProcessor: (source) => first.checkProcessor(source),
  };
}

function launchOn(
  all: readonly Runner[],
  given: Parameters<Runner['launcher']['launch']>,
  fail: (error: Error) => void,
): Launched {
  const orFail = async <T>(one: Promise<T> | null): Promise<T | null> => {
    try {
      return await one;
    } catch (error) {
      fail(error as Error); // the other devices would wait for its values
      throw error;
    }
  };
  const launched = all.map(({ launcher }) => launcher.launch(...given));
  return {
    submitted: Promise.all(launched.map(({ submitted }) => orFail(submitted))).then(() => {}),
    async sample(): Promise<SampledTokens> {
      const [own] = await Promise.all(launched.map((one) => orFail(one.sample())));
      return own!;
    },
    drop: () => launched.forEach((one) => one.drop()),
  };
}
