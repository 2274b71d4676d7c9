// apt with a private state: an ordinary user downloads packages from the system's own mirrors. apt checks the archive's signatures.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Packages could not be had; the message is a sentence for the user. */
export class AptError extends Error {}
/** The archive does not contain the packages, so that a retry is useless. */
export class NotInArchive extends AptError {}

// On every system that runs Node and apt. An empty package status makes apt list them all the same.
const present = /^(libc6|libc-bin|libgcc-s1|libstdc\+\+6|gcc-\d+-base)_/;

/** Drivers before this major version are refused by Dawn or lack what the kernels use. */
const oldestMesa = 24;

/**
 * Downloads packages, with `closure` also what they depend on, into `work`; with `newMesa` from backports where the release's Mesa is too
 * old.
 * @param {string[]} names
 * @param {{ closure: boolean, newMesa?: boolean, work: string }} options
 * @returns {string[]} the downloaded .deb files
 */
export function downloadPackages(names, { closure, newMesa = false, work }) {
  for (const tool of ['apt-get', 'dpkg-deb', 'ldd']) {
    if (spawnSync(tool, ['--version']).error) throw new NotInArchive(`${tool} is not on this system.`);
  }
  const apt = privateApt(work, newMesa);
  const wanted = closure
    ? ['install', '--yes', '--no-install-recommends', '--download-only', ...apt.release, ...names]
    : ['download', ...apt.release, ...names];
  const { status, stderr } = apt.run('apt-get', wanted);
  if (status !== 0) {
    const Kind = /Unable to locate|no installation candidate|no candidate/i.test(stderr)
      ? NotInArchive
      : AptError;
    throw new Kind(`apt could not download ${names.join(' and ')}: ${reasonIn(stderr)}`);
  }
  return readdirSync(apt.archives)
    .filter((file) => file.endsWith('.deb') && !present.test(file))
    .map((file) => join(apt.archives, file));
}

/** Lists fetched into `work`; `release` holds the options that choose backports, with `newMesa` where the release's Mesa is too old. */
function privateApt(work, newMesa) {
  const archives = join(work, 'archives');
  for (const folder of ['lists/partial', 'archives/partial', 'log'])
    mkdirSync(join(work, folder), { recursive: true });
  writeFileSync(join(work, 'status'), '');
  writeFileSync(join(work, 'apt.conf'), configuration(work));
  const run = (program, args) =>
    spawnSync(program, ['-c', join(work, 'apt.conf'), ...args], {
      cwd: archives,
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 1 << 26,
    });
  const update = (sources) => {
    writeFileSync(join(work, 'main.sources'), sources.map(stanza).join('\n'));
    const { status, stderr } = run('apt-get', ['update', '--error-on=any']);
    if (status !== 0) throw new AptError(`apt could not read the package lists: ${reasonIn(stderr)}`);
  };

  const sources = systemSources();
  update(sources);
  if (!newMesa || candidateMajor(run) >= oldestMesa) return { archives, run, release: [] };
  const main = sources.find((source) => source.suites.includes(source.base));
  if (!main) return { archives, run, release: [] };
  const backports = `${main.base}-backports`;
  try {
    update([...sources, { ...main, suites: [backports] }]);
  } catch (error) {
    // A release without backports: what it has must do.
    if (!(error instanceof AptError)) throw error;
    update(sources);
    return { archives, run, release: [] };
  }
  return { archives, run, release: ['-t', backports] };
}

function candidateMajor(run) {
  const { stdout } = run('apt-cache', ['policy', 'mesa-vulkan-drivers']);
  return Number(stdout.match(/Candidate: (?:\d+:)?(\d+)/)?.[1] ?? 0);
}

// Hooks that other packages put into the system's configuration are not for this run.
function configuration(work) {
  return `
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::State::lists "${work}/lists";
Dir::State::status "${work}/status";
Dir::State::extended_states "${work}/extended_states";
Dir::Cache "${work}";
Dir::Cache::archives "${work}/archives";
Dir::Log "${work}/log";
Dir::Etc::sourcelist "${work}/main.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "";
APT::Keep-Downloaded-Packages "true";
Acquire::Languages "none";
Acquire::Retries "2";
`;
}

/** The entries of the system's sources for its own release and that release's updates. */
function systemSources() {
  const codename = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=["']?([\w.-]+)/m)?.[1];
  const folder = '/etc/apt/sources.list.d';
  const files = [
    '/etc/apt/sources.list',
    ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []),
  ];
  const sources = files
    .filter((file) => existsSync(file) && /\.(list|sources)$/.test(basename(file)))
    .flatMap((file) => parseSources(readFileSync(file, 'utf8'), file.endsWith('.sources')))
    .flatMap((source) => ofRelease(source, codename));
  if (sources.length === 0) {
    throw new AptError(`apt's sources name no mirror for the release ${codename ?? '(unknown)'}.`);
  }
  return sources;
}

// A system may follow its release by codename or by role.
function ofRelease(source, codename) {
  for (const base of [codename, 'stable', 'oldstable', 'testing', 'unstable', 'sid']) {
    const suites = source.suites.filter(
      (suite) => suite.split(/[-/]/)[0] === base && !/-(backports|proposed)/.test(suite),
    );
    if (base && suites.length > 0) return [{ ...source, suites, base }];
  }
  return [];
}

/** Both forms of sources: one line each, or stanzas of fields. Exported for its test. */
export function parseSources(text, stanzas) {
  return stanzas ? parseStanzas(text) : text.split('\n').flatMap(parseLine);
}

function parseLine(line) {
  const match = line.replace(/#.*/, '').match(/^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+?)\s*$/);
  if (!match || match[2].startsWith('cdrom:')) return [];
  const signedBy = match[1]?.match(/signed-by=(\S+)/i)?.[1] ?? null;
  return [{ uris: [match[2]], suites: [match[3]], components: match[4].split(/\s+/), signedBy }];
}

function parseStanzas(text) {
  const lines = text.split('\n').filter((line) => !line.startsWith('#'));
  return lines
    .join('\n')
    .split(/\n\s*\n/)
    .flatMap((block) => {
      const field = (name) =>
        block.match(new RegExp(`^${name}:((?:.*)(?:\\n[ \\t].*)*)`, 'im'))?.[1].trim() ?? '';
      const words = (name) => field(name).split(/\s+/).filter(Boolean);
      if (!words('Types').includes('deb') || /^no$/i.test(field('Enabled'))) return [];
      // Signed-By may hold the key itself, so its line breaks count.
      return [
        {
          uris: words('URIs'),
          suites: words('Suites'),
          components: words('Components'),
          signedBy: field('Signed-By') || null,
        },
      ];
    });
}

function stanza(source) {
  return [
    'Types: deb',
    `URIs: ${source.uris.join(' ')}`,
    `Suites: ${source.suites.join(' ')}`,
    `Components: ${source.components.join(' ')}`,
    'Targets: Packages',
    ...(source.signedBy ? [`Signed-By: ${source.signedBy}`] : []),
    '',
  ].join('\n');
}

/** The download that failed, if one did: apt's last error only says that something was wrong. */
function reasonIn(stderr) {
  const lines = stderr.match(/^[EW]: .*$/gm) ?? [];
  const told =
    lines.find((line) => line.includes('Failed to fetch')) ?? lines.findLast((line) => line[0] === 'E');
  return told?.slice(3) ?? 'no reason given';
}
