package githubtest

import "strings"

// routes registers everything that the stand-in implements, with the permission that GitHub asks.
func (s *Server) routes() {
	s.appRoutes()
	s.repoRoutes()
	s.issueRoutes()
	s.pullRoutes()
	s.checkRoutes()
}

// on registers a route below a repository.
func (s *Server) on(methodPath string, n need, fn func(*call) (reply, error)) {
	method, path, _ := strings.Cut(methodPath, " ")
	s.handle(method+" /repos/{owner}/{repo}"+path, n, fn)
}

func (s *Server) appRoutes() {
	anyone, app := need{kind: needAnyone}, need{kind: needApp}
	s.handle("GET /app", app, (*call).getApp)
	s.handle("GET /apps/{slug}", anyone, (*call).getAppBySlug)
	s.handle("GET /app/installations", app, (*call).listInstallations)
	s.handle("GET /app/installations/{id}", app, (*call).getInstallation)
	s.handle("POST /app/installations/{id}/access_tokens", app, (*call).createToken)
	s.handle("GET /app/hook/config", app, (*call).hookConfig)
	s.handle("PATCH /app/hook/config", app, (*call).updateHookConfig)
	s.handle("GET /app/hook/deliveries", app, (*call).listDeliveries)
	s.handle("GET /app/hook/deliveries/{id}", app, (*call).getDelivery)
	s.handle("POST /app/hook/deliveries/{id}/attempts", app, (*call).redeliverRoute)
	s.handle("POST /app-manifests/{code}/conversions", anyone, (*call).convertManifest)
	s.handle("GET /repos/{owner}/{repo}/installation", app, (*call).getRepoInstallation)
	s.handle("GET /orgs/{account}/installation", app, (*call).getAccountInstallation)
	s.handle("GET /users/{account}/installation", app, (*call).getAccountInstallation)
	s.handle("GET /installation/repositories", need{kind: needInst}, (*call).listInstallationRepos)
	s.handle("DELETE /installation/token", need{kind: needInst}, (*call).revokeToken)
	s.handle("GET /users/{login}", anyone, (*call).getUser)
	s.handle("GET /user", need{kind: needUser}, (*call).getSelf)
	s.handle("GET /rate_limit", anyone, (*call).getRateLimit)
	s.handle("GET /meta", anyone, (*call).getMeta)
}

func (s *Server) repoRoutes() {
	s.handle("GET /repos/{owner}/{repo}", reads(metadata), (*call).getRepo)
	s.on("GET /contents/{path...}", reads(contents), (*call).getContents)
	s.on("GET /collaborators/{login}/permission", reads(metadata), (*call).getPermission)
	s.on("GET /collaborators/{login}", reads(metadata), (*call).isCollaborator)
	s.on("GET /branches", reads(contents), (*call).listBranches)
	s.on("GET /branches/{branch}", reads(contents), (*call).getBranch)
	s.on("GET /commits", reads(contents), (*call).listCommits)
	s.on("GET /commits/{ref}", reads(contents), (*call).getCommit)
	s.on("GET /commits/{ref}/pulls", reads(pulls, contents), (*call).listPullsOfCommit)
	s.on("GET /commits/{ref}/status", reads(statuses), (*call).combinedStatus)
	s.on("GET /commits/{ref}/statuses", reads(statuses), (*call).listStatuses)
	s.on("POST /statuses/{sha}", writes(statuses), (*call).createStatus)
	s.on("GET /compare/{basehead...}", reads(contents), (*call).compare)
	s.on("GET /git/ref/{ref...}", reads(contents), (*call).getRef)
	s.on("GET /git/matching-refs/{ref...}", reads(contents), (*call).matchingRefs)
	s.on("POST /git/refs", writes(contents), (*call).createRef)
	s.on("PATCH /git/refs/{ref...}", writes(contents), (*call).updateRef)
	s.on("DELETE /git/refs/{ref...}", writes(contents), (*call).deleteRef)
	s.on("GET /git/commits/{sha}", reads(contents), (*call).getGitCommit)
	s.on("POST /git/commits", writes(contents), (*call).createGitCommit)
	s.on("GET /git/trees/{sha...}", reads(contents), (*call).getTree)
	s.on("POST /git/trees", writes(contents), (*call).createTree)
	s.on("GET /git/blobs/{sha}", reads(contents), (*call).getBlob)
	s.on("POST /git/blobs", writes(contents), (*call).createBlob)
	s.on("GET /git/tags/{sha}", reads(contents), (*call).getTag)
	s.on("POST /git/tags", writes(contents), (*call).createTag)
}

func (s *Server) issueRoutes() {
	r, w := reads(issues, pulls), writes(issues, pulls)
	s.on("GET /issues", r, (*call).listIssues)
	s.on("POST /issues", writes(issues), (*call).createIssue)
	s.on("GET /issues/{number}", r, (*call).getIssue)
	s.on("PATCH /issues/{number}", w, (*call).updateIssue)
	s.on("GET /issues/{number}/events", r, (*call).listIssueEvents)
	s.on("GET /issues/{number}/timeline", r, (*call).listTimeline)
	s.on("GET /issues/events", r, (*call).listRepoEvents)
	s.on("GET /issues/events/{id}", r, (*call).getIssueEvent)
	s.on("GET /issues/{number}/comments", r, (*call).listIssueComments)
	s.on("POST /issues/{number}/comments", w, (*call).createComment)
	s.on("GET /issues/comments", r, (*call).listRepoComments)
	s.on("GET /issues/comments/{id}", r, (*call).getComment)
	s.on("PATCH /issues/comments/{id}", w, (*call).updateComment)
	s.on("DELETE /issues/comments/{id}", w, (*call).removeComment)
	s.on("GET /issues/{number}/reactions", r, listReactions("issue"))
	s.on("POST /issues/{number}/reactions", w, createReaction("issue"))
	s.on("DELETE /issues/{number}/reactions/{reaction}", w, deleteReaction("issue"))
	s.on("GET /issues/comments/{id}/reactions", r, listReactions("comment"))
	s.on("POST /issues/comments/{id}/reactions", w, createReaction("comment"))
	s.on("DELETE /issues/comments/{id}/reactions/{reaction}", w, deleteReaction("comment"))
	s.on("GET /labels", r, (*call).listRepoLabels)
	s.on("POST /labels", w, (*call).createLabel)
	s.on("GET /labels/{name}", r, (*call).getLabel)
	s.on("PATCH /labels/{name}", w, (*call).updateLabel)
	s.on("DELETE /labels/{name}", w, (*call).deleteLabel)
	s.on("GET /issues/{number}/labels", r, (*call).listIssueLabels)
	s.on("POST /issues/{number}/labels", w, (*call).addIssueLabels)
	s.on("PUT /issues/{number}/labels", w, (*call).setIssueLabels)
	s.on("DELETE /issues/{number}/labels", w, (*call).clearIssueLabels)
	s.on("POST /issues/{number}/assignees", w, (*call).addAssignees)
	s.on("DELETE /issues/{number}/assignees", w, (*call).removeAssignees)
	s.on("DELETE /issues/{number}/labels/{name}", w, (*call).removeIssueLabel)
}

func (s *Server) pullRoutes() {
	r, w := reads(pulls), writes(pulls)
	s.on("GET /pulls", r, (*call).listPulls)
	s.on("POST /pulls", w, (*call).createPull)
	s.on("GET /pulls/{number}", r, (*call).getPull)
	s.on("PATCH /pulls/{number}", w, (*call).updatePull)
	s.on("GET /pulls/{number}/files", r, (*call).listPullFiles)
	s.on("GET /pulls/{number}/commits", r, (*call).listPullCommits)
	s.on("GET /pulls/{number}/merge", r, (*call).isMerged)
	s.on("GET /pulls/{number}/reviews", r, (*call).listReviews)
	s.on("POST /pulls/{number}/reviews", w, (*call).createReview)
	s.on("GET /pulls/{number}/reviews/{review}", r, (*call).getReview)
	s.on("GET /pulls/{number}/reviews/{review}/comments", r, (*call).listCommentsOfReview)
	s.on("GET /pulls/{number}/comments", r, (*call).listPullComments)
	s.on("POST /pulls/{number}/comments", w, (*call).createPullComment)
	s.on("POST /pulls/{number}/comments/{id}/replies", w, (*call).replyComment)
	s.on("GET /pulls/comments/{id}", r, (*call).getPullComment)
	s.on("PATCH /pulls/comments/{id}", w, (*call).updatePullComment)
	s.on("GET /pulls/comments/{id}/reactions", r, listReactions("review comment"))
	s.on("POST /pulls/comments/{id}/reactions", w, createReaction("review comment"))
	s.on("DELETE /pulls/comments/{id}/reactions/{reaction}", w, deleteReaction("review comment"))
	s.on("GET /pulls/{number}/requested_reviewers", r, (*call).getReviewers)
	s.on("POST /pulls/{number}/requested_reviewers", w, (*call).requestReviewers)
	s.on("DELETE /pulls/{number}/requested_reviewers", w, (*call).removeReviewers)
}

func (s *Server) checkRoutes() {
	r, w := reads(checks), writes(checks)
	s.on("POST /check-runs", w, (*call).createCheckRun)
	s.on("GET /check-runs/{id}", r, (*call).getCheckRun)
	s.on("PATCH /check-runs/{id}", w, (*call).updateCheckRun)
	s.on("GET /check-runs/{id}/annotations", r, (*call).listAnnotations)
	s.on("POST /check-runs/{id}/rerequest", w, (*call).rerequestRun)
	s.on("GET /commits/{ref}/check-runs", r, (*call).listRunsOfRef)
	s.on("GET /commits/{ref}/check-suites", r, (*call).listSuitesOfRef)
	s.on("GET /check-suites/{id}", r, (*call).getSuite)
	s.on("GET /check-suites/{id}/check-runs", r, (*call).listRunsOfSuite)
	s.on("POST /check-suites/{id}/rerequest", w, (*call).rerequestSuiteRoute)
	s.on("GET /actions/runs/{run}/jobs", reads(actions), (*call).listJobs)
	s.on("GET /actions/jobs/{id}", reads(actions), (*call).getJob)
	s.on("GET /actions/jobs/{id}/logs", reads(actions), (*call).getJobLogs)
}

func (c *call) getMeta() (reply, error) {
	return ok(obj{"verifiable_password_authentication": false, "installed_version": "3.19.0"})
}
