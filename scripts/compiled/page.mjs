// The page scripts/bench/compiled.md.

import { FORMATS } from '../../dist/kernels/formats.js';

const HEAD = `# What AMD's compiler makes of the kernels

Written by \`node scripts/check-compiled.mjs --write\`; \`npm test\` compares it. Mesa's RADV compiles the kernels that \`npm run gpu-check\` launches with the profile of each card, on a
machine without a GPU. Registers are vector registers of a lane; scratch is memory of a group for what does not fit them; groups are the subgroups that fit a SIMD at once, in the driver's count of 64 lanes as two. Instructions
are those of the text and not of a run; latency is the compiler's estimate in cycles of one group, loops counted eight times.
`;

/** @returns {string} the version of the driver that a page names, or '' */
export function versionIn(page) {
  return /^Driver: (.+)$/m.exec(page)?.[1] ?? '';
}

/** @param {object[]} results those of sectionOf, all of one driver */
export function pageOf(results) {
  return [HEAD, `Driver: ${results[0].driver}\n`, ...results.map(sectionOf)].join('\n');
}

/** @param {{ card: string, architecture: string, pipelines: object[] }} result of compileFor, with its card */
export function sectionOf({ architecture, card, pipelines }) {
  return [
    `## ${architecture} (${card})\n`,
    kernelTable(pipelines),
    'Products by weight format: decode at one row, and prompts in tiles of 64 rows.\n',
    formatTable(pipelines),
  ].join('\n');
}

function kernelTable(pipelines) {
  const shaders = [...new Set(pipelines.map(({ shader }) => shader))].sort((a, b) => (a < b ? -1 : 1));
  const rows = shaders.map((shader) => {
    const own = pipelines.filter((one) => one.shader === shader);
    const spilled = own.map((one) => one.spilled + one.spilledScalars);
    return [
      `\`${shader}\``,
      own.length,
      range(own.map(({ registers }) => registers)),
      range(spilled),
      range(own.map(({ scratch }) => scratch)),
      range(own.map(({ occupancy }) => occupancy)),
      range(own.map(({ shared }) => shared)),
    ];
  });
  return table(
    ['Kernel', 'Pipelines', 'Registers', 'Spilled', 'Scratch bytes', 'Groups', 'Shared bytes'],
    rows,
  );
}

function formatTable(pipelines) {
  const ofFormat = (shader, format, rows) =>
    pipelines.find(
      (one) =>
        one.shader === shader &&
        one.params.W === format &&
        one.params.ROWS === rows &&
        one.params.STORE === 'set',
    );
  const rows = Object.keys(FORMATS).flatMap((format) => {
    const found = [ofFormat('matvec.wgsl', format, 1), ofFormat('gemm.wgsl', format, 64)];
    if (found.includes(undefined)) return [];
    return [
      [
        format,
        ...found.flatMap(({ registers, occupancy, instructions, latency }) => [
          registers,
          occupancy,
          instructions,
          latency,
        ]),
      ],
    ];
  });
  const figures = ['registers', 'groups', 'instructions', 'latency'];
  const head = ['decode', 'prompt'].flatMap((phase) => figures.map((figure) => `${phase}: ${figure}`));
  return table(['Format', ...head], rows);
}

function range(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? String(least) : `${least} to ${most}`;
}

function table(head, rows) {
  return `${[head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}
