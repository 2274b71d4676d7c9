// A time by Python's strftime format, in English, as the C library of Linux writes it.

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAY = 86_400_000;

type Field = (time: Date) => string;

const two = (value: number): string => String(value).padStart(2, '0');
const dayOfYear = (time: Date): number =>
  Math.round(
    (Date.UTC(time.getFullYear(), time.getMonth(), time.getDate()) - Date.UTC(time.getFullYear(), 0, 1)) /
      DAY,
  );
const hour12 = (time: Date): number => time.getHours() % 12 || 12;

/** Week of the year, counted from its first `first`: 0 Sunday, 1 Monday. */
const week = (time: Date, first: 0 | 1): number =>
  Math.floor((dayOfYear(time) + 7 - ((time.getDay() + 7 - first) % 7)) / 7);

/** ISO 8601's year and week: those of the week's Thursday. */
function isoWeek(time: Date): { year: number; week: number } {
  const thursday = new Date(time.getFullYear(), time.getMonth(), time.getDate() + 4 - (time.getDay() || 7));
  return { year: thursday.getFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}

const FIELDS: Readonly<Record<string, Field>> = {
  a: (time) => DAYS[time.getDay()]!.slice(0, 3),
  A: (time) => DAYS[time.getDay()]!,
  b: (time) => MONTHS[time.getMonth()]!.slice(0, 3),
  h: (time) => MONTHS[time.getMonth()]!.slice(0, 3),
  B: (time) => MONTHS[time.getMonth()]!,
  c: (time) => formatTime('%a %b %e %H:%M:%S %Y', time),
  C: (time) => two(Math.floor(time.getFullYear() / 100)),
  d: (time) => two(time.getDate()),
  D: (time) => formatTime('%m/%d/%y', time),
  e: (time) => String(time.getDate()).padStart(2),
  f: (time) => String(time.getMilliseconds() * 1000).padStart(6, '0'),
  F: (time) => formatTime('%Y-%m-%d', time),
  g: (time) => two(isoWeek(time).year % 100),
  G: (time) => String(isoWeek(time).year),
  H: (time) => two(time.getHours()),
  I: (time) => two(hour12(time)),
  j: (time) => String(dayOfYear(time) + 1).padStart(3, '0'),
  k: (time) => String(time.getHours()).padStart(2),
  l: (time) => String(hour12(time)).padStart(2),
  m: (time) => two(time.getMonth() + 1),
  M: (time) => two(time.getMinutes()),
  n: () => '\n',
  p: (time) => (time.getHours() < 12 ? 'AM' : 'PM'),
  P: (time) => (time.getHours() < 12 ? 'am' : 'pm'),
  r: (time) => formatTime('%I:%M:%S %p', time),
  R: (time) => formatTime('%H:%M', time),
  s: (time) => String(Math.floor(time.getTime() / 1000)),
  S: (time) => two(time.getSeconds()),
  t: () => '\t',
  T: (time) => formatTime('%H:%M:%S', time),
  u: (time) => String(time.getDay() || 7),
  U: (time) => two(week(time, 0)),
  V: (time) => two(isoWeek(time).week),
  w: (time) => String(time.getDay()),
  W: (time) => two(week(time, 1)),
  x: (time) => formatTime('%m/%d/%y', time),
  X: (time) => formatTime('%H:%M:%S', time),
  y: (time) => two(time.getFullYear() % 100),
  Y: (time) => String(time.getFullYear()),
  // The time has no zone, as datetime.now() has none.
  z: () => '',
  Z: () => '',
  '%': () => '%',
};

/** `-`: without padding; `_`: padded with blanks; `0`: with zeros; `^`: in capitals. */
export function formatTime(format: string, time: Date): string {
  return format.replace(/%([-_0^]?)([a-zA-Z%])/g, (whole, flag: string, name: string) => {
    const field = FIELDS[name];
    if (!field) return whole;
    const text = field(time);
    if (flag === '^') return text.toUpperCase();
    if (flag === '0') return text.replace(/^ +/, (blanks) => '0'.repeat(blanks.length));
    const isNumber = /^[ \d]+$/.test(text);
    if (flag === '' || !isNumber) return text;
    const bare = text.replace(/^[ 0]+(?=\d)/, '');
    return flag === '-' ? bare : bare.padStart(text.length);
  });
}
