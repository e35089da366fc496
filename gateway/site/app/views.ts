/** Views that are loaded together when one is first shown, because they share most parts. */
export { AccountView as account } from './account/account-view.js';
export { AmendDialog as amend } from './account/amend.js';
export { Recover as recover, SignIn as signIn, SignUp as register } from './account/entrance.js';
export { KeyList as keys } from './key-list.js';
export { PastView as past } from './past/past-view.js';
export { ReplayView as replay } from './past/replay-view.js';
export { LeaderboardView as leaderboard } from './people/leaderboard-view.js';
export { ProfileView as user } from './people/profile-view.js';
export { RulesView as rules } from './rules-view.js';
export { StatusView as status } from './status/status-view.js';
export { Guide as guide } from './ticket/guide.js';
