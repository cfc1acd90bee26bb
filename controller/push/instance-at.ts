import type { AdminAddress } from '../../shared/api/admin-address.ts';
import { AdminUnreachable, createAdminClient } from '../../shared/api/admin-client.ts';
import type { DataplaneStatus } from '../../shared/wire/status.ts';

/** How long it may take to answer (ms). */
const ANSWER_MS = 5_000;

/** Which process answers at an address, as it says itself, which disturbs none of its streams; null if nothing does. */
export async function instanceAt(address: AdminAddress, token: string | undefined): Promise<string | null> {
  try {
    const { status, text } = await createAdminClient({ address, token, queryMs: ANSWER_MS }).request('GET', '/status');
    return status === 200 ? ((JSON.parse(text) as Partial<DataplaneStatus>).instance ?? null) : null;
  } catch (error) {
    if (error instanceof AdminUnreachable || error instanceof SyntaxError) return null;
    throw error;
  }
}
