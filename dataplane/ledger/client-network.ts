/**
 * What limits count as one client: an IPv4 address, or the /64 of an IPv6 address. Networks assign at least a /64
 * (RFC 6177), in which a client can use any number of addresses.
 */
export function clientNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  // IPv4-mapped addresses (RFC 4291 2.5.5.2) all share one /64.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return dotted(groups[6] ?? 0, groups[7] ?? 0);
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/** The eight groups of an IPv6 address as numbers. */
function groupsOf(address: string): number[] {
  const [left = '', right] = address.split('::');
  const head = left === '' ? [] : left.split(':').flatMap(numbersOf);
  if (right === undefined) return head;
  const tail = right === '' ? [] : right.split(':').flatMap(numbersOf);
  return [...head, ...new Array<number>(Math.max(0, 8 - head.length - tail.length)).fill(0), ...tail];
}

/** A dotted tail takes the place of two groups. */
function numbersOf(group: string): number[] {
  if (!group.includes('.')) return [Number.parseInt(group, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.');
