import type { Condition } from '../../condition.ts';
import type { Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { type Address, parseUpstream } from '../../values/address.ts';

const FORM = 'mirror <host:port> [<percent>%]';

/** The maximum number of upstreams that a request is copied to. */
export const MAX_MIRRORS = 16;

type Mirror = { upstream: Address; tls: boolean; percent: number; match?: Condition | undefined };

type Target = { address: Address; weight: number; state: 'healthy' };
type Further = {
  upstreams: Target[];
  tls: boolean;
  fraction?: { numerator: number; denominator: number } | undefined;
  match?: Condition | undefined;
};
type MirrorMembers = { mirror?: Mirror | null | undefined; mirrors?: Further[] | null | undefined };

export const mirrorDirective: Grammar<MirrorMembers> = {
  name: 'mirror',
  otherNames: ['mirroring', 'shadow', 'proxy_mirror'],
  form: FORM,
  args: [1, 2],
  block: 'none',
  repeats: true,
  matcher: 'before',
  read({ name, args: [word, share] }, part, { report }, condition) {
    if (!word) return;
    const [, scheme, rest] = /^(https?:\/\/)?(.*)$/s.exec(word.text) ?? [];
    const address = parseUpstream(rest ?? '');
    if (!address.ok) return report.error(word, `mirror ${quote(word.text)}: ${address.reason}`);
    const percent = share === undefined ? 100 : Number(share.text.slice(0, -1));
    if (share && !(/^\d{1,3}%$/.test(share.text) && percent >= 1 && percent <= 100))
      return report.error(share, `mirror ${quote(share.text)}: a percentage from 1% to 100%`);
    const more = { tls: scheme === 'https://', ...(condition && { match: condition }) };
    if (part.mirror == null) {
      part.mirror = { upstream: address.value, percent, ...more };
      return;
    }
    const { mirrors } = part;
    if ((mirrors?.length ?? 0) === MAX_MIRRORS - 1) return report.error(name, `a request is copied to at most ${MAX_MIRRORS} mirrors`);
    const further = { upstreams: [{ address: address.value, weight: 1, state: 'healthy' as const }], ...more };
    part.mirrors = [...(mirrors ?? []), { ...further, ...(percent < 100 && { fraction: { numerator: percent, denominator: 100 } }) }];
  },
};
