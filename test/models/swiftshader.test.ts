// Goldens of image modules and of towers on a second driver with subgroups of four and no f16; scripts/vitest.all.config.ts runs those of language models there.
// A process has one driver, so they run in a child.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { vulkanCacheFolder } from '../../src/gpu/vulkan-cache.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cached = existsSync(join(vulkanCacheFolder(), 'swiftshader', 'libvk_swiftshader.so'));
if (!cached) console.log('SwiftShader: NOT RUN');

interface Outcome {
  passed: number;
  failed: number;
  messages: string[];
}

/** Runs the tests of these files whose names match, on SwiftShader. */
function runOnSwiftShader(files: readonly string[], names: string): Promise<Outcome> {
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config=scripts/vitest.config.ts',
    '--no-isolate',
    '--maxWorkers=1',
    '--reporter=json',
  ];
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...args, ...files.map((file) => `test/${file}.test.ts`), '-t', names],
      { cwd: root, env: { ...process.env, SVC_VULKAN_DRIVER: 'swiftshader' }, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        const report = stdout.indexOf('{"numTotal');
        if (report < 0) return reject(new Error(`no report: ${error?.message}\n${stdout}\n${stderr}`));
        const { numPassedTests, numFailedTests, testResults } = JSON.parse(stdout.slice(report)) as {
          numPassedTests: number;
          numFailedTests: number;
          testResults: { assertionResults: { fullName: string; failureMessages: string[] }[] }[];
        };
        const messages = testResults.flatMap((file) =>
          file.assertionResults.flatMap((test) =>
            test.failureMessages.map((message) => `${test.fullName}: ${message.split('\n')[0]}`),
          ),
        );
        resolve({ passed: numPassedTests, failed: numFailedTests, messages });
      },
    );
  });
}

const IMAGE_FILES = [
  'text/clip',
  'image/unet',
  'image/controlnet',
  'image/ip-adapter',
  'vision/clip-vision',
  'image/autoencoder-kl',
  'image/autoencoder-tiny',
  'image/z-image',
  'image/qwen-image',
  'image/flux',
  'image/flux2',
  'image/chroma',
  'image/sd3',
  'image/autoencoder-kl-flux2',
  'text/t5',
  'image/autoencoder-qwen-image',
  'image/autoencoder-dc',
  'image/sana',
  'image/pixart',
];

/** Towers of models that read media. */
const TOWER_FILES = [
  'models/vision/qwen-vision',
  'models/vision/intern-vit',
  'models/vision/idefics3',
  'models/vision/pixtral',
  'models/vision/gemma3',
  'engine/text/media/towers',
  'engine/text/media/sound-towers',
];

it.runIf(cached)('goldens of image modules agree on SwiftShader as well', { timeout: 240_000 }, async () => {
  const { passed, failed, messages } = await runOnSwiftShader(
    IMAGE_FILES.map((file) => `models/${file}`),
    'tuned (clip-projection|unet-sdxl|controlnet-sdxl|ip-adapter-sd1-plus|clip-vision|vae-(de|en)code|tiny-decode|z-image-padded|qwen-image-references|vae-qwen-image-decode|flux-references|flux2|chroma|vae-flux2-decode|t5|sd3-dual|dc-(shuffle-)?decode|sana-placed|pixart-alpha)',
  );
  expect(messages).toEqual([]);
  expect(failed).toBe(0);
  expect(passed).toBe(23);
});

it.runIf(cached)('each tower of media agrees on SwiftShader as well', { timeout: 240_000 }, async () => {
  const { passed, failed, messages } = await runOnSwiftShader(
    TOWER_FILES,
    'tuned (qwen-vision-small|intern-vit qwen. of .*-original|smolvlm|mistral3|whole)|(qwen2-vl|qwen3-vl) image 1|(qwen2-audio|voxtral) sound 1',
  );
  expect(messages).toEqual([]);
  expect(failed).toBe(0);
  expect(passed).toBe(10);
});
