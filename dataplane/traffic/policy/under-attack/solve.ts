/** Where `solve` gets its challenge, and the cookie for its solution. */
type Settings = { readonly path: string; readonly cookie: string };

/** `max_age` in seconds. */
type Challenge = { readonly token: string; readonly bits: number; readonly max_age: number };

/** What `solve` uses of a browser's window. */
type Browser = {
  readonly document: { cookie: string; getElementById(id: string): { hidden: boolean } | null };
  readonly location: { readonly protocol: string; reload(): void };
  readonly sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  fetch(path: string): Promise<{ readonly ok: boolean; json(): Promise<unknown> }>;
  setTimeout(act: () => void, ms: number): unknown;
};

/**
 * Runs in the browser: fetches a challenge, finds the number and reloads the page. It is sent as its own source text, so it uses nothing
 * from outside. Browsers offer SHA-256 only over HTTPS, and one hash at a time, so it has its own (FIPS 180-4).
 */
export function solve({ path, cookie }: Settings, { document, location, sessionStorage, fetch, setTimeout }: Browser): void {
  const constants = new Int32Array(64);
  const initial = new Int32Array(8);
  const fraction = (root: number): number => ((root - Math.floor(root)) * 0x100000000) | 0;
  for (let candidate = 2, count = 0; count < 64; candidate++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) if (candidate % divisor === 0) prime = false;
    if (!prime) continue;
    if (count < 8) initial[count] = fraction(Math.sqrt(candidate));
    constants[count++] = fraction(Math.cbrt(candidate));
  }
  const words = new Int32Array(64);
  const state = new Int32Array(8);
  /** The zero bits at the beginning of the hash of a text of at most 55 characters, which is one block. */
  const zeros = (text: string): number => {
    words.fill(0);
    for (let at = 0; at < text.length; at++) words[at >> 2] = (words[at >> 2] as number) | (text.charCodeAt(at) << (24 - (at & 3) * 8));
    words[text.length >> 2] = (words[text.length >> 2] as number) | (0x80 << (24 - (text.length & 3) * 8));
    words[15] = text.length * 8;
    const rotate = (value: number, by: number): number => (value >>> by) | (value << (32 - by));
    for (let at = 16; at < 64; at++) {
      const one = words[at - 15] as number;
      const two = words[at - 2] as number;
      const low = rotate(one, 7) ^ rotate(one, 18) ^ (one >>> 3);
      const high = rotate(two, 17) ^ rotate(two, 19) ^ (two >>> 10);
      words[at] = ((words[at - 16] as number) + low + (words[at - 7] as number) + high) | 0;
    }
    state.set(initial);
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let at = 0; at < 64; at++) {
      const first =
        (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + (constants[at] as number) + (words[at] as number)) | 0;
      const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    const head = (a + (initial[0] as number)) | 0;
    return Math.clz32(head);
  };
  const show = (id: string): void => {
    for (const name of ['working', 'cookies', 'again']) {
      const element = document.getElementById(name);
      if (element) element.hidden = name !== id;
    }
  };
  /** Not twice within ten seconds: then the solution was not accepted, and a loop would help no one. */
  const isLoop = (): boolean => {
    const last = Number(sessionStorage.getItem(cookie) ?? 0);
    sessionStorage.setItem(cookie, String(Date.now()));
    return Date.now() - last < 10_000;
  };
  const done = ({ token, max_age }: Challenge, number: number): void => {
    const value = `${token}.${number}`;
    const secure = location.protocol === 'https:' ? '; Secure' : '';
    document.cookie = `${cookie}=${value}; Path=/; Max-Age=${max_age}; SameSite=Lax${secure}`;
    if (!document.cookie.includes(value)) return show('cookies');
    if (isLoop()) return show('again');
    location.reload();
  };
  const work = (challenge: Challenge, from: number): void => {
    const end = Date.now() + 40;
    let number = from;
    while (Date.now() < end)
      for (let step = 0; step < 200; step++, number++)
        if (zeros(`${challenge.token}.${number}`) >= challenge.bits) return done(challenge, number);
    setTimeout(() => work(challenge, number), 0);
  };
  fetch(path)
    .then((response) => (response.ok ? response.json() : Promise.reject()))
    .then(
      (challenge) => work(challenge as Challenge, 0),
      () => show('again'),
    );
}
