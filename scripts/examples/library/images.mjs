// Images: one is drawn from a prompt, and another from the first. The shipped model draws 128 × 128 pixels; it is small, and knows few words.
//   node images.mjs ["a prompt" [model]]

import { readFile, writeFile } from 'node:fs/promises';
import { encodeImage, openImageModel, shippedImageModelPath } from 'svc-engine';

const [prompt = 'a red balloon over snowy mountains at sunset', path = shippedImageModelPath()] =
  process.argv.slice(2);

const model = await openImageModel({ model: path });

/**
 * Draws a request and saves the image. Without a seed a random one is drawn.
 * @param {import('svc-engine').ImageRequest} request @param {string} name
 */
async function draw(request, name) {
  for await (const event of model.generate(request)) {
    if (event.type === 'step') process.stderr.write(`\r${name}: step ${event.step} of ${event.steps} `);
    if (event.type !== 'image') continue;
    await writeFile(name, await encodeImage(event.image, { format: 'png' }));
    console.log(`\n${name}: ${event.image.width} × ${event.image.height} pixels, seed ${event.seed}`);
  }
}

await draw({ prompt }, 'drawn.png');
// `image` takes the bytes of a file (PNG, JPEG, WebP or BMP), or pixels as events have them.
await draw({ prompt, image: await readFile('drawn.png'), strength: 0.5 }, 'redrawn.png');
await model.close();
