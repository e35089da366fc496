/**
 * The signed-in user. The session is a cookie that scripts cannot read. The browser also stores
 * whether a user was signed in, so that visitors without a session cause no request. Signing in or
 * out in one tab does the same in the others.
 */
import { computed, effect, signal } from '@preact/signals';
import {
  changePassword,
  isRefusal,
  login,
  logout,
  recover,
  register,
  session,
} from '../../../client/index.js';
import { api, connection } from './exchange.js';
import { kept } from './settings.js';

interface User {
  userId: string;
  username: string;
}

const hint = kept<'yes' | 'no'>('signed-in', 'no', ['yes', 'no']);
/** `undefined` while unknown. */
const found = signal<User | null | undefined>(undefined);
export const user = computed(() => found.value ?? null);
export const isKnown = computed(() => found.value !== undefined);
/** Whether to reserve room for content that only users see. */
export const isExpected = computed(() =>
  isKnown.value ? user.value !== null : hint.value === 'yes',
);

const REVOKED_WAIT_MS = 1_000;
const tabs = new BroadcastChannel('session');
tabs.onmessage = ({ data }) => {
  if (data === 'out') forgetSession();
  else void resumeSession(true);
};

export async function resumeSession(isCertain = false): Promise<void> {
  if (hint.peek() === 'no' && !isCertain) {
    found.value = null;
    return;
  }
  try {
    const { userId, username } = await session(api);
    found.value = { userId, username };
    hint.value = 'yes';
  } catch (error) {
    if (!isRefusal(error)) throw error;
    found.value = null;
    hint.value = 'no';
  }
}

// The exchange may have been unreachable when the page asked.
effect(() => {
  if (connection.value === 'live' && !isKnown.peek()) void resumeSession().catch(() => {});
});

export async function signIn(username: string, password: string): Promise<void> {
  enter(await login(api, { username, password }));
}

export async function signInWithCode(
  username: string,
  code: string,
  newPassword: string,
): Promise<void> {
  enter(await recover(api, { username, code, newPassword }));
}

export async function signUp(
  username: string,
  password: string,
  referralCode: string,
): Promise<void> {
  const code = referralCode === '' ? {} : { referralCode };
  enter(await register(api, { username, password, ...code }));
}

export async function signOut(): Promise<void> {
  await logout(api);
  found.value = null;
  hint.value = 'no';
  tabs.postMessage('out');
}

/** Increases when the same user gets another session, so that the stream signs in again. */
export const generation = signal(0);
let isChanging = false;

/** Changes the password, which ends all other sessions. This browser gets a new one. */
export async function newPasswordOf(currentPassword: string, newPassword: string): Promise<void> {
  isChanging = true;
  try {
    await changePassword(api, { currentPassword, newPassword });
    generation.value++;
  } finally {
    isChanging = false;
  }
}

/** Call when the exchange ended the session. Another tab may have changed the password. */
export function sessionRevoked(): void {
  if (isChanging) return;
  const ask = async () => {
    await resumeSession(true);
    generation.value++;
  };
  // The other tab's new cookie may still be under way.
  setTimeout(() => void ask().catch(forgetSession), REVOKED_WAIT_MS);
}

/** Signs out locally: the password was changed elsewhere, or the cookie is gone. */
export function forgetSession(): void {
  found.value = null;
  hint.value = 'no';
}

function enter({ userId, username }: User): void {
  found.value = { userId, username };
  hint.value = 'yes';
  tabs.postMessage('in');
}
